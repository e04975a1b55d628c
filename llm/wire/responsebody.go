package wire

import (
	"cmp"
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

// maxBody bounds the size of a response. A server that never stops would otherwise fill the memory.
const maxBody = 64 << 20

// errIdle is the cause of the cancellation of a request whose server sent nothing for too long.
var errIdle = errors.New("idle")

// A ResponseBody is the body of a response, read while it arrives. Its errors, except io.EOF, are a [*fault.Error].
type ResponseBody struct {
	Type string // the media type: "text/event-stream"

	peer   *Service
	caller context.Context
	ctx    context.Context // ends with the caller's, or when the server sends nothing for too long
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	body   io.ReadCloser
	plain  io.Reader // the body, unpacked
	left   int64
}

// newBody starts the idle timer of a request.
func (p *Service) newBody(caller context.Context) *ResponseBody {
	a := &ResponseBody{peer: p, caller: caller, idle: max(p.Idle, 0), left: maxBody}
	a.idle = cmp.Or(a.idle, defaultIdle)
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

// Read implements io.Reader. Only the time spent here counts as idle, not the time that the caller takes to process the
// text.
func (a *ResponseBody) Read(b []byte) (int, error) {
	a.timer.Reset(a.idle)
	n, err := a.plain.Read(b)
	a.timer.Stop()
	a.left -= int64(n)
	switch {
	case a.left < 0:
		return 0, a.peer.fault(fault.TooLarge, fmt.Sprintf("the response is larger than the limit of %d MB", maxBody>>20),
			"")
	case err == nil || err == io.EOF:
		return n, err
	}
	if stopped := a.stopped(); stopped != nil {
		return n, stopped
	}
	return n, a.peer.Truncated()
}

// stopped returns why the request was cancelled, nil if it was not.
func (a *ResponseBody) stopped() error {
	if a.caller.Err() != nil {
		return context.Cause(a.caller)
	}
	if context.Cause(a.ctx) != nil {
		return a.peer.fault(fault.Timeout, fmt.Sprintf("%s sent nothing for %v", a.peer.Who, a.idle), "try again later")
	}
	return nil
}

// Alive reports whether the caller still waits for the response.
func (a *ResponseBody) Alive() bool { return a.caller.Err() == nil }

// LimitIdle shortens the time that the server may be silent from here on.
func (a *ResponseBody) LimitIdle(idle time.Duration) { a.idle = min(a.idle, idle) }

// Drain reads the last few bytes of a response whose end is known already, so that the connection can be reused. It
// does not wait for them long.
func (a *ResponseBody) Drain() {
	a.LimitIdle(20 * time.Millisecond)
	io.Copy(io.Discard, io.LimitReader(a, 4<<10))
}

// Close discards the rest of the response.
func (a *ResponseBody) Close() {
	a.timer.Stop()
	a.cancel(nil)
	if a.body != nil {
		a.body.Close()
	}
}

// WrapError returns the error for a stream that ended too early because of an error of [Lines] or [Events].
func (a *ResponseBody) WrapError(err error) error {
	_, ours := errors.AsType[*fault.Error](err)
	switch {
	case ours:
		return err
	case a.caller.Err() != nil:
		return context.Cause(a.caller)
	case errors.Is(err, errLong):
		return a.peer.fault(fault.TooLarge, "the response has "+err.Error(), "")
	}
	return a.peer.Truncated()
}

// CheckStream returns an error for a document where a stream was requested. Reading it as a stream would find nothing
// in it, and no error.
func (a *ResponseBody) CheckStream() error {
	var what string
	switch {
	case a.Type == "application/json":
		what = "JSON"
	case strings.Contains(a.Type, "html"):
		what = "a web page"
	default:
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(a, maxErrorBody))
	if err != nil {
		return err
	}
	if _, ok := find(data); ok {
		return a.peer.Refuse(RefusalIn(data))
	}
	return a.peer.Unreadable("answered with " + what + " where a stream was asked for")
}

// unzip decompresses what is read from it. Unlike gzip.NewReader it reads nothing before the first Read.
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
