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
	largestAnswer = 64 << 20         // bytes of a response
	maxComplaint  = 64 << 10         // bytes of the body of an error
	maxWords      = 300              // characters shown of an error
	goneFor       = 60 * time.Second // how long an unreachable engine is not tried again
	startHint     = "start COEIROINK, or set speech.enabled to false"
)

// errLate is the cause of a timeout.
var errLate = errors.New("late")

// errLarge is the error of reading more than largestAnswer.
var errLarge = errors.New("large")

// A question is a request to the engine.
type question struct {
	path   string
	body   any    // nil means GET
	accept string // empty means JSON
	wait   time.Duration
	probe  bool // sent even if the engine was unreachable a moment ago
}

// A rejection is an HTTP status other than 200.
type rejection struct {
	status int
	words  string
}

func (r *rejection) Error() string { return r.words }

// statusOf returns the HTTP status in err, or 0.
func statusOf(err error) int {
	var r *rejection
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

// ask sends a request and passes the response to read if its status is 200.
func (e *Engine) ask(ctx context.Context, q question, read func(*http.Response) error) error {
	if gone := e.stillGone(); gone != nil && !q.probe {
		return gone
	}
	limited, cancel := context.WithTimeoutCause(ctx, q.wait, errLate)
	defer cancel()
	req, err := e.request(limited, q)
	if err != nil {
		return err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return e.unreached(ctx, limited, q, err)
	}
	defer resp.Body.Close()
	e.reached()
	resp.Body = &bounded{ReadCloser: resp.Body, left: largestAnswer}
	if resp.StatusCode != http.StatusOK {
		return e.rejected(resp)
	}
	return e.explain(ctx, limited, q, read(resp))
}

func (e *Engine) request(ctx context.Context, q question) (*http.Request, error) {
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
		return nil, e.problem(fault.Invalid, "the address makes no sense", "write it like "+DefaultURL)
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

// stillGone returns why the engine was unreachable a moment ago: the same error each time, so that callers
// can recognize it.
func (e *Engine) stillGone() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone != nil && e.Now().Sub(e.goneAt) < goneFor {
		return e.gone
	}
	return nil
}

func (e *Engine) reached() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = nil
}

// remember stores why the engine is unreachable.
func (e *Engine) remember(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone, e.goneAt = err, e.Now()
	return err
}

// unreached explains an error without any response.
func (e *Engine) unreached(caller, limited context.Context, q question, err error) error {
	var op *net.OpError
	dialled := !errors.As(err, &op) || op.Op != "dial"
	if dialled || caller.Err() != nil || errors.Is(context.Cause(limited), errLate) {
		return e.explain(caller, limited, q, err)
	}
	return e.remember(e.problem(fault.Unavailable, "nobody answers there", startHint))
}

// explain converts errors after the connection was made. Errors of the network are not passed on: the server
// controls part of their text.
func (e *Engine) explain(caller, limited context.Context, q question, err error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return context.Cause(caller)
	case errors.Is(context.Cause(limited), errLate):
		return e.remember(e.problem(fault.Timeout, fmt.Sprintf("it did not answer within %v", q.wait), startHint))
	case errors.As(err, &known):
		return known
	case errors.Is(err, errLarge):
		return e.problem(fault.TooLarge, fmt.Sprintf("the answer has more than the %d MB that are read", largestAnswer>>20),
			"check that a COEIROINK engine listens there")
	}
	return e.problem(fault.Unavailable, "the answer broke off", "try again")
}

// rejected explains a status other than 200.
func (e *Engine) rejected(resp *http.Response) error {
	r := &rejection{status: resp.StatusCode}
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
	text, _ := io.ReadAll(io.LimitReader(body, maxComplaint))
	var list struct {
		Detail []struct {
			Loc []any
			Msg string
		}
	}
	var plain struct{ Detail string }
	if json.Unmarshal(text, &list) != nil {
		json.Unmarshal(text, &plain)
		return after(plain.Detail)
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
	return after(strings.Join(all, "; "))
}

func after(words string) string {
	if words = clean(words, maxWords); words == "" {
		return ""
	}
	return ": " + words
}

// clean makes foreign text safe for one line of a terminal.
func clean(s string, most int) string { return text.Line(s, most) }

// A bounded body fails when it is too long.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, err
}
