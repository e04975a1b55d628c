package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"

	"hako/run/fault"
)

// Reasons of refusals, for errors.Is.
var (
	ErrGone     = errors.New("docker has no such container")
	ErrNoImage  = errors.New("docker has no such image")
	ErrConflict = errors.New("the name is taken, or something still uses it")
	errStopped  = errors.New("the container is not running")
)

// An engineError is one of these reasons with the engine's message.
type engineError struct {
	text   string
	reason error
}

func (r *engineError) Error() string { return r.text }
func (r *engineError) Unwrap() error { return r.reason }

// A connError is a broken or failed connection.
type connError struct{ cause error }

func (c *connError) Error() string {
	cause := c.cause
	var op *net.OpError
	if errors.As(cause, &op) {
		cause = op.Err // the address is in the message already
	}
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		return "it ended in the middle"
	}
	return clean(strings.TrimPrefix(cause.Error(), "net/http: "))
}

func (c *connError) Unwrap() error { return c.cause }

// refuse turns an unsuccessful answer into an error.
func refuse(r request, res *http.Response) error {
	text := message(res)
	e := &fault.Error{Kind: kindOf(res.StatusCode), Op: r.op, Subject: r.subject, Why: text}
	low := strings.ToLower(text)
	switch {
	case res.StatusCode == http.StatusNotFound && (strings.Contains(low, "no such container") ||
		strings.Contains(low, "no such exec")):
		e.Why, e.Err = "", ErrGone
	case res.StatusCode == http.StatusNotFound && strings.Contains(low, "no such image"):
		e.Why, e.Err = "", ErrNoImage
	case res.StatusCode == http.StatusConflict && strings.Contains(low, "not running"):
		e.Why, e.Err = "", errStopped
	case res.StatusCode == http.StatusConflict:
		e.Why, e.Err = "", &engineError{text, ErrConflict}
	}
	return e
}

func kindOf(status int) fault.Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.Denied
	case http.StatusNotFound:
		return fault.NotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return fault.Timeout
	case http.StatusTooManyRequests:
		return fault.Unavailable
	}
	if status >= 400 && status < 500 {
		return fault.Invalid
	}
	return fault.Unavailable
}

// message returns the reason in an answer.
func message(res *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxText)) // an incomplete reason is better than none
	var m struct{ Message string }
	if json.Unmarshal(body, &m) == nil && m.Message != "" {
		return lowerFirst(clean(m.Message))
	}
	if text := clean(string(body)); text != "" {
		return "docker answered " + res.Status[:min(3, len(res.Status))] + ": " + text
	}
	return "docker answered " + clean(res.Status)
}

// connFailure explains a call without a complete answer.
func (e *Engine) connFailure(ctx context.Context, op string, err error) error {
	out := &fault.Error{Kind: fault.Unavailable, Op: op}
	switch cause := context.Cause(ctx); {
	case cause == errClosed:
		return closed(op)
	case cause == errSilent:
		out.Why, out.Hint = "docker at "+e.Host()+" did not answer within "+e.timeout.String(),
			"see whether it still works: docker info"
	case ctx.Err() == context.Canceled:
		out.Kind, out.Why, out.Err = fault.Other, "it was given up", ctx.Err()
	case ctx.Err() != nil:
		out.Kind, out.Why, out.Err = fault.Timeout, "it was not done in time", ctx.Err()
	default:
		out.Err = &connError{unwrapURLError(err)}
		out.Why, out.Hint = e.explainAbsence(err)
	}
	return out
}

// explainAbsence explains why there is no engine, with a hint.
func (e *Engine) explainAbsence(err error) (why, hint string) {
	why, hint = "docker at "+e.Host()+" hung up", "see whether it still runs: docker info"
	var dial interface{ Timeout() bool }
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "docker at " + e.Host() + " may not be used by you",
			"add yourself to the docker group (sudo usermod -aG docker $USER, then log in again), or set DOCKER_HOST to a rootless engine"
	case dialing(err):
		return "docker is not running: nothing listens at " + e.Host(),
			"start it (sudo systemctl start docker), or set DOCKER_HOST to where it listens"
	case errors.As(err, &dial) && dial.Timeout():
		return "docker at " + e.Host() + " did not answer in time", hint
	}
	return why, hint
}
