package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hako/run/fault"
)

const maxAnswer = 32 << 20 // bytes of one answer: ten thousand containers with their labels

// A request is one call of the API.
type request struct {
	op, subject string // for messages
	method      string // empty means GET
	path        string // after the version
	query       url.Values
	body        any       // sent as JSON; nil means none
	raw         io.Reader // sent as it is, a tar archive; nil means none
	upgrade     bool      // the connection is hijacked
	endless     bool      // without timeout
	repeatable  bool      // it can safely be sent twice, as every GET
}

// call sends a request, and decodes the answer into out unless that is nil. It retries where that is safe.
func (e *Engine) call(ctx context.Context, r request, out any) error {
	patience := e.timeout
	if r.endless {
		patience = 0
	}
	ctx, cancel := e.bound(ctx, patience)
	defer cancel()
	var err error
	for try := 0; ; try++ {
		var again bool
		if again, err = e.once(ctx, r, out); err == nil || !again || try == len(e.retryDelays) {
			return err
		}
		select {
		case <-time.After(e.retryDelays[try]):
		case <-ctx.Done():
			return err
		}
	}
}

// once sends a request once, and reports whether to try again.
func (e *Engine) once(ctx context.Context, r request, out any) (again bool, err error) {
	res, err := e.do(ctx, r)
	if err != nil {
		return r.mayRepeat() && broken(err), err
	}
	defer discard(res.Body)
	if res.StatusCode >= 300 && res.StatusCode != http.StatusNotModified {
		again := res.StatusCode >= http.StatusBadGateway && res.StatusCode <= http.StatusGatewayTimeout
		return r.mayRepeat() && again, refuse(r, res)
	}
	if out == nil || res.StatusCode == http.StatusNotModified {
		return false, nil
	}
	err = e.read(ctx, r, res.Body, out)
	return r.mayRepeat() && broken(err), err
}

func (r request) mayRepeat() bool { return r.repeatable || r.method == "" }

// do sends a request with the negotiated API version. The caller closes the body.
func (e *Engine) do(ctx context.Context, r request) (*http.Response, error) {
	api, err := e.version(ctx, r.op)
	if err != nil {
		return nil, err
	}
	return e.send(ctx, r, "http://docker/v"+api+r.path)
}

func (e *Engine) send(ctx context.Context, r request, to string) (*http.Response, error) {
	if e.ctx.Err() != nil {
		return nil, closed(r.op)
	}
	req, err := r.http(ctx, to)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: r.op, Subject: r.subject, Err: err}
	}
	res, err := e.http.Do(req)
	if err != nil {
		return nil, e.connFailure(ctx, r.op, err)
	}
	return res, nil
}

func (r request) http(ctx context.Context, to string) (*http.Request, error) {
	if len(r.query) > 0 {
		to += "?" + r.query.Encode()
	}
	method, kind, body := r.method, "application/x-tar", r.raw
	if method == "" {
		method = http.MethodGet
	}
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		kind, body = "application/json", bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if r.upgrade {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "tcp")
	}
	return req, nil
}

// read decodes a JSON answer of limited length.
func (e *Engine) read(ctx context.Context, r request, body io.Reader, out any) error {
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	switch {
	case err != nil:
		return e.connFailure(ctx, r.op, err)
	case len(text) > maxAnswer:
		return &fault.Error{Kind: fault.TooLarge, Op: r.op, Subject: r.subject, Why: "docker's answer is too long"}
	}
	if err := json.Unmarshal(text, out); err != nil {
		return garbled(r)
	}
	return nil
}

func garbled(r request) error {
	return &fault.Error{Kind: fault.Unavailable, Op: r.op, Subject: r.subject, Why: "docker's answer is invalid",
		Hint: "is it a docker engine that listens at DOCKER_HOST?"}
}

// bound cancels a call when the engine is closed and, unless the timeout is zero, after that time.
func (e *Engine) bound(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stops := []func() bool{context.AfterFunc(e.ctx, func() { cancel(errClosed) })}
	if patience > 0 {
		timer := time.AfterFunc(patience, func() { cancel(errSilent) })
		stops = append(stops, timer.Stop)
	}
	return ctx, func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
		cancel(nil)
	}
}

// Why a call was cancelled here, rather than by its caller.
var (
	errClosed = errors.New("closed")
	errSilent = errors.New("no answer in time")
)

// broken reports whether the connection broke, so that another attempt may succeed.
func broken(err error) bool {
	var cut *connError
	return errors.As(err, &cut) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
}

// discard drains a short rest, so that the connection can be reused.
func discard(body io.ReadCloser) {
	io.CopyN(io.Discard, body, maxText)
	body.Close()
}
