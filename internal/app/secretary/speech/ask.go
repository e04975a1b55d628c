package speech

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"hako/internal/text"
	"hako/run/fault"
)

const (
	maxResponse  = 64 << 20         // bytes of a response
	maxErrorBody = 64 << 10         // bytes of the body of an error
	maxErrorText = 300              // characters shown of an error
	retryAfter   = 60 * time.Second // how long an unreachable engine is not tried again
	startHint    = "start COEIROINK, or set speech.enabled to false"
)

// errTimeout is the cause of a timeout.
var errTimeout = errors.New("late")

// errTooLarge is the error of reading more than largestAnswer.
var errTooLarge = errors.New("large")

// A request is a request to the engine.
type request struct {
	path   string
	body   any    // nil means GET
	accept string // empty means JSON
	wait   time.Duration
	probe  bool // sent even if the engine was unreachable a moment ago
}

// An httpError is an HTTP status other than 200.
type httpError struct {
	status int
	words  string
}

func (r *httpError) Error() string { return r.words }

// statusOf returns the HTTP status in err, or 0.
func statusOf(err error) int {
	var r *httpError
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

// ask sends a request and passes the response to read if its status is 200.
func (e *Engine) ask(ctx context.Context, q request, read func(*http.Response) error) error {
	if gone := e.recentlyUnreachable(); gone != nil && !q.probe {
		return gone
	}
	limited, cancel := context.WithTimeoutCause(ctx, q.wait, errTimeout)
	defer cancel()
	req, err := e.request(limited, q)
	if err != nil {
		return err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return e.connectError(ctx, limited, q, err)
	}
	defer resp.Body.Close()
	e.setReachable()
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxResponse}
	if resp.StatusCode != http.StatusOK {
		return e.statusError(resp)
	}
	return e.wrapError(ctx, limited, q, read(resp))
}

func (e *Engine) request(ctx context.Context, q request) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, e.problem(fault.Invalid, "what is to be said cannot be written down", "")
		}
		method, body = http.MethodPost, bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, string(e.base)+q.path, body)
	if err != nil {
		return nil, e.problem(fault.Invalid, "the address makes no sense", "write it like "+defaultURL)
	}
	if q.accept == "" {
		q.accept = "application/json"
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", q.accept)
	req.Header.Set("User-Agent", "hako")
	return req, nil
}

// recentlyUnreachable returns why the engine was unreachable a moment ago: the same error each time, so that callers
// can recognize it.
func (e *Engine) recentlyUnreachable() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unreachable != nil && e.Now().Sub(e.unreachableSince) < retryAfter {
		return e.unreachable
	}
	return nil
}

func (e *Engine) setReachable() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unreachable = nil
}

// setUnreachable stores why the engine is unreachable.
func (e *Engine) setUnreachable(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unreachable, e.unreachableSince = err, e.Now()
	return err
}

// connectError explains an error without any response.
func (e *Engine) connectError(caller, limited context.Context, q request, err error) error {
	var op *net.OpError
	dialled := !errors.As(err, &op) || op.Op != "dial"
	if dialled || caller.Err() != nil || errors.Is(context.Cause(limited), errTimeout) {
		return e.wrapError(caller, limited, q, err)
	}
	return e.setUnreachable(e.problem(fault.Unavailable, "nobody answers there", startHint))
}

// wrapError converts errors after the connection was made. Errors of the network are not passed on: the server
// controls part of their text.
func (e *Engine) wrapError(caller, limited context.Context, q request, err error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return context.Cause(caller)
	case errors.Is(context.Cause(limited), errTimeout):
		return e.setUnreachable(e.problem(fault.Timeout, fmt.Sprintf("it did not answer within %v", q.wait), startHint))
	case errors.As(err, &known):
		return known
	case errors.Is(err, errTooLarge):
		return e.problem(fault.TooLarge, fmt.Sprintf("the answer has more than the %d MB that are read", maxResponse>>20),
			"check that a COEIROINK engine listens there")
	}
	return e.problem(fault.Unavailable, "the answer broke off", "try again")
}

// statusError explains a status other than 200.
func (e *Engine) statusError(resp *http.Response) error {
	r := &httpError{status: resp.StatusCode}
	hint := "check that a COEIROINK v2 engine listens there"
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		r.words = fmt.Sprintf("it redirects to another address, which is not followed (%d)", resp.StatusCode)
	case resp.StatusCode == http.StatusUnprocessableEntity:
		r.words = "it did not accept the request (422)" + detail(resp.Body)
		hint = "check the voice and its values, or update COEIROINK"
	case resp.StatusCode == http.StatusNotFound:
		r.words = "it has nothing at that address (404)"
	case resp.StatusCode >= 500:
		r.words = fmt.Sprintf("the server failed (%d)", resp.StatusCode)
		hint = "try another voice, or start COEIROINK again"
	default:
		r.words = fmt.Sprintf("it answered with status %d", resp.StatusCode)
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "ask coeiroink", Subject: string(e.base), Hint: hint, Err: r}
}

// detail formats the error that FastAPI returns: ": speedScale: field required". It is empty if the body
// cannot be parsed.
func detail(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
	var list struct {
		Detail []struct {
			Loc []any
			Msg string
		}
	}
	var plain struct{ Detail string }
	if json.Unmarshal(text, &list) != nil {
		json.Unmarshal(text, &plain)
		return withColon(plain.Detail)
	}
	var all []string
	for _, d := range list.Detail {
		var at []string
		for _, step := range d.Loc {
			if name := fmt.Sprint(step); name != "body" {
				at = append(at, name)
			}
		}
		all = append(all, strings.Join(append(at, d.Msg), ": "))
	}
	return withColon(strings.Join(all, "; "))
}

func withColon(words string) string {
	if words = oneLine(words, maxErrorText); words == "" {
		return ""
	}
	return ": " + words
}

// oneLine makes foreign text safe for one line of a terminal.
func oneLine(s string, most int) string { return text.Line(s, most) }

// A boundedBody body fails when it is too long.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
