package asksocket

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"hako/gate"
	"hako/run/fault"
)

// A Client asks through the hako serve of the same user.
type Client struct {
	Dir string // of the [Server]
}

const (
	dialTime  = time.Second
	takenTime = 3 * time.Second // for a busy machine; a dead process is detected at once
)

// Reachable reports whether somebody can be asked now.
func (c Client) Reachable() bool {
	if _, err := os.Stat(c.Dir); err != nil { // quick: every shell calls this at its start
		return false
	}
	conn, err := c.dial()
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// dial connects to a hako serve of this user, and nobody else.
func (c Client) dial() (*net.UnixConn, error) {
	if !hasPeerCredentials {
		return nil, errors.ErrUnsupported
	}
	name, done, err := socketPath(c.Dir)
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := (&net.Dialer{Timeout: dialTime}).Dial("unix", name)
	if err != nil {
		return nil, err
	}
	own := conn.(*net.UnixConn)
	if uid, _, err := peerCredentials(own); err != nil || uid != os.Geteuid() {
		own.Close() // another user must not approve
		return nil, errors.New("somebody else listens there")
	}
	return own, nil
}

// Ask asks a question and waits for the answer. It fits [gate.Options.Ask]. Any failure means no, with an error.
func (c Client) Ask(ctx context.Context, q gate.Question) (gate.Answer, error) {
	var wait time.Duration
	if end, ok := ctx.Deadline(); ok {
		wait = max(time.Until(end), time.Millisecond)
	}
	line, err := encodeQuestion(q, wait)
	if err != nil {
		return gate.No, err
	}
	conn, err := c.dial()
	if err != nil {
		return gate.No, askError("it does not run any more")
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answer, err := exchange(conn, line)
	if err != nil && ctx.Err() != nil {
		return gate.No, context.Cause(ctx)
	}
	return answer, err
}

// exchange sends a question and waits for the replies.
func exchange(conn net.Conn, line []byte) (gate.Answer, error) {
	_ = conn.SetDeadline(time.Now().Add(takenTime))
	_, _ = conn.Write(line) // the reply, or its absence, explains a failure
	replies := bufio.NewReaderSize(conn, maxReply)
	first, err := readReply(replies)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return gate.No, askError("it does not react")
	case err != nil:
		return gate.No, err
	case !first.Taken:
		return gate.No, askError("it did not take the question")
	}
	_ = conn.SetDeadline(time.Time{})
	second, err := readReply(replies)
	if err != nil {
		return gate.No, err
	}
	answer, known := gate.ParseAnswer(second.Answer)
	if !known {
		return gate.No, askError("its answer is not understood")
	}
	return answer, nil
}

// readReply reads a reply and converts failures to errors.
func readReply(from *bufio.Reader) (reply, error) {
	line, err := from.ReadSlice('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return reply{}, err
	case errors.Is(err, bufio.ErrBufferFull):
		return reply{}, askError("its answer is not understood")
	case err != nil:
		return reply{}, askError("it ended before anybody had answered")
	}
	var r reply
	switch err := decode(line, &r); {
	case err != nil:
		return reply{}, askError("its answer is not understood")
	case r.Silent:
		return reply{}, &fault.Error{Kind: fault.Timeout, Op: "ask", Why: "nobody answered in time",
			Err: context.DeadlineExceeded}
	case r.Error != "":
		return reply{}, askError(r.Error)
	}
	return r, nil
}

func askError(why string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "ask at the page of", Subject: "hako serve", Why: why}
}
