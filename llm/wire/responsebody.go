package wire

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"hako/run/fault"
)

// maxAnswer bounds what one answer may hold. A server that never stops would otherwise fill the memory.
const maxAnswer = 64 << 20

// errIdle is the cause of cancelling a request whose server fell silent.
var errIdle = errors.New("idle")

// An ResponseBody is the body of an answer, read while it arrives. Its errors, other than io.EOF, are fit for people.
type ResponseBody struct {
	Type string // the media type: "text/event-stream"

	peer   *Service
	caller context.Context
	ctx    context.Context // ends when the caller's does, or the server falls silent
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	body   io.ReadCloser
	plain  io.Reader // the body, unpacked
	left   int64
}

// answer starts the clock of a request.
func (p *Service) answer(caller context.Context) *ResponseBody {
	a := &ResponseBody{peer: p, caller: caller, idle: p.Idle, left: maxAnswer}
	if a.idle <= 0 {
		a.idle = DefaultIdle
	}
	a.ctx, a.cancel = context.WithCancelCause(caller)
	a.timer = time.AfterFunc(a.idle, func() { a.cancel(errIdle) })
	return a
}

// begin takes over the body of a response.
func (a *ResponseBody) begin(resp *http.Response) {
	a.Type, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	a.body, a.plain = resp.Body, resp.Body
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		a.plain = &unzip{from: resp.Body}
	}
}

// Read implements io.Reader. Only the time spent here counts as silence, not the time the caller takes to do something
// with the text.
func (a *ResponseBody) Read(b []byte) (int, error) {
	a.timer.Reset(a.idle)
	n, err := a.plain.Read(b)
	a.timer.Stop()
	a.left -= int64(n)
	switch {
	case a.left < 0:
		return 0, a.peer.fault(fault.TooLarge, fmt.Sprintf("the answer has more than the %d MB that are read", maxAnswer>>20),
			"")
	case err == nil || err == io.EOF:
		return n, err
	}
	if stopped := a.stopped(); stopped != nil {
		return n, stopped
	}
	return n, a.peer.Broken()
}

// stopped returns why the request was cancelled, nil if it was not.
func (a *ResponseBody) stopped() error {
	if a.caller.Err() != nil {
		return context.Cause(a.caller)
	}
	if context.Cause(a.ctx) != nil {
		return a.peer.fault(fault.Timeout, fmt.Sprintf("no word from %s for %v", a.peer.Who, a.idle), "try again later")
	}
	return nil
}

// Alive tells whether the caller still waits for the answer.
func (a *ResponseBody) Alive() bool { return a.caller.Err() == nil }

// Hurry shortens the silence that is put up with from here on.
func (a *ResponseBody) Hurry(idle time.Duration) { a.idle = min(a.idle, idle) }

// Done reads the last few bytes of an answer whose end is known already, so that the connection can be used again. It
// does not wait for them long.
func (a *ResponseBody) Done() {
	a.Hurry(20 * time.Millisecond)
	io.Copy(io.Discard, io.LimitReader(a, 4<<10))
}

// Close gives up what is left of the answer.
func (a *ResponseBody) Close() {
	a.timer.Stop()
	a.cancel(nil)
	if a.body != nil {
		a.body.Close()
	}
}

// Explain words an error of reading lines or events from the answer, which ended before it should have.
func (a *ResponseBody) Explain(err error) error {
	var e *fault.Error
	switch {
	case errors.As(err, &e):
		return err
	case a.caller.Err() != nil:
		return context.Cause(a.caller)
	case errors.Is(err, ErrLong):
		return a.peer.fault(fault.TooLarge, "the answer has "+err.Error(), "")
	}
	return a.peer.Broken()
}

// Streams returns an error for an answer that is a document where a stream was asked for. Reading it as a stream would
// find nothing in it, and no error.
func (a *ResponseBody) Streams() error {
	var what string
	switch {
	case a.Type == "application/json":
		what = "JSON"
	case strings.Contains(a.Type, "html"):
		what = "a web page"
	default:
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(a, maxComplaint))
	if err != nil {
		return err
	}
	if _, ok := find(data); ok {
		return a.peer.Refuse(Inside(data))
	}
	return a.peer.Unread("answered with " + what + " where a stream was asked for")
}

// unzip unpacks what is read from it. Unlike gzip.NewReader it reads nothing before it is asked to.
type unzip struct {
	from io.Reader
	z    *gzip.Reader
}

func (u *unzip) Read(b []byte) (n int, err error) {
	if u.z == nil {
		if u.z, err = gzip.NewReader(u.from); err != nil {
			return 0, err
		}
	}
	return u.z.Read(b)
}
