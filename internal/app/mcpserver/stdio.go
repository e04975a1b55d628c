package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdin passes valid messages to the SDK and answers all other lines itself: the SDK would disconnect at the first
// one, and the sandboxes of the client would be lost. It delays the end of the input while requests are being
// answered: scripts write their requests and close the pipe at once, and the SDK drops unanswered ones.
type stdin struct {
	in      *bufio.Reader
	out     *stdout // for errors
	longest int     // bytes of a line
	grace   time.Duration
	busy    atomic.Int64 // requests being answered

	line    []byte // the last line
	rest    []byte // of it, to be passed on
	batches bool   // the protocol version of the client has them

	good, bad atomic.Bool // there was such a line
	over      atomic.Bool // the input has ended
}

func newStdin(in io.Reader, out *stdout, l Limits) *stdin {
	return &stdin{in: bufio.NewReaderSize(in, 32<<10), out: out, longest: l.Line, grace: l.Grace}
}

// Read implements [io.Reader].
func (s *stdin) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		long, err := s.next()
		if err != nil {
			s.settle(s.grace)
			s.over.Store(true)
			return 0, err
		}
		s.passOrAnswer(long)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next reads a line, and reports whether it is too long.
func (s *stdin) next() (long bool, err error) {
	if cap(s.line) > 1<<20 {
		s.line = nil // release the memory of a very long line
	}
	s.line = s.line[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if long = long || len(s.line)+len(part) > s.longest; long {
			s.line = nil
		} else {
			s.line = append(s.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (len(s.line) > 0 || long):
			return long, nil // the last line has no line end
		default:
			return long, err
		}
	}
}

// passOrAnswer passes on the last line, or answers it.
func (s *stdin) passOrAnswer(long bool) {
	line := bytes.TrimSpace(s.line)
	if long {
		s.answerError(invalid(nil, fmt.Sprintf("the line has more than %d bytes", s.longest)))
		return
	}
	if len(line) == 0 {
		return
	}
	pass, complaint := s.judge(line)
	switch {
	case complaint != nil:
		s.answerError(complaint)
	case pass:
		s.good.Store(true)
		s.rest = append(line, '\n')
	}
}

func (s *stdin) answerError(c *malformedError) {
	s.bad.Store(true)
	_, _ = s.out.Write(append(c.encode(), '\n'))
}

// onlyInvalid reports whether there was no valid message.
func (s *stdin) onlyInvalid() bool { return s.bad.Load() && !s.good.Load() }

// settle waits until no request has been in progress for a few moments in a row: the last one read may not have begun,
// and the last answer may not be written.
func (s *stdin) settle(most time.Duration) {
	const moment = 10 * time.Millisecond
	quiet := 0
	for end := time.Now().Add(most); quiet < 3 && time.Now().Before(end); time.Sleep(moment) {
		quiet++
		if s.busy.Load() > 0 {
			quiet = 0
		}
	}
}

func (s *stdin) Close() error { return nil }

// stdout is the output. Close does not close it.
type stdout struct {
	io.Writer
	mu     sync.Mutex  // held while a line is written
	broken atomic.Bool // a write failed
}

func (s *stdout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.Writer.Write(p)
	if err != nil {
		s.broken.Store(true)
	}
	return n, err
}

func (*stdout) Close() error { return nil }

// countRequests counts requests while they are being answered.
func (s *stdin) countRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		s.busy.Add(1)
		defer s.busy.Add(-1)
		return next(ctx, method, req)
	}
}

// streams implements [sdk.Transport].
type streams struct {
	in  *stdin
	out *stdout
}

func (s streams) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := (&sdk.IOTransport{Reader: s.in, Writer: s.out, MaxLineLength: -1}).Connect(ctx)
	return keepAliveReader{c, s.in}, err
}

// keepAliveReader is a connection that survives messages which the SDK cannot decode.
type keepAliveReader struct {
	sdk.Connection
	in *stdin
}
