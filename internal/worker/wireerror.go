package worker

import (
	"context"
	"errors"

	"hako/run/fault"
)

// A wireError is an error as it is sent: a chain of fault.Errors, and texts of others.
type wireError struct {
	Fault *wireFault `json:"fault,omitempty"`
	Text  string     `json:"text,omitempty"`
	Is    string     `json:"is,omitempty"` // name of a sentinel error
	Cause *wireError `json:"cause,omitempty"`
}

type wireFault struct {
	Kind                         fault.Kind
	Op, Subject, Why, Rule, Hint string
	FlagHint                     string
	Later                        bool
}

// sentinels are errors that callers compare with.
var sentinels = map[string]error{"canceled": context.Canceled, "deadline": context.DeadlineExceeded}

// maxCauses bounds the chain.
const maxCauses = 16

func encodeError(err error) *wireError { return encodeChain(err, maxCauses) }

func encodeChain(err error, left int) *wireError {
	if err == nil || left == 0 {
		return nil
	}
	if e, ok := err.(*fault.Error); ok {
		return &wireError{
			Fault: &wireFault{e.Kind, e.Op, e.Subject, e.Why, e.Rule, e.Hint, e.FlagHint, e.Later},
			Cause: encodeChain(e.Err, left-1),
		}
	}
	w := &wireError{Text: err.Error()}
	for name, s := range sentinels {
		if errors.Is(err, s) {
			w.Is = name
		}
	}
	var e *fault.Error
	if errors.As(err, &e) { // keep kind and hint of a wrapped fault.Error
		w.Cause = encodeChain(e, left-1)
	}
	return w
}

func (w *wireError) decode() error {
	switch {
	case w == nil:
		return nil
	case w.Fault != nil:
		f := w.Fault
		return &fault.Error{Kind: f.Kind, Op: f.Op, Subject: f.Subject, Why: f.Why, Rule: f.Rule, Hint: f.Hint,
			FlagHint: f.FlagHint, Later: f.Later, Err: w.Cause.decode()}
	}
	if s := sentinels[w.Is]; s != nil && w.Text == s.Error() {
		return s
	}
	return &remoteError{text: w.Text, is: sentinels[w.Is], cause: w.Cause.decode()}
}

// remoteError is an error of the other side that is not a fault.Error.
type remoteError struct {
	text      string
	is, cause error
}

func (r *remoteError) Error() string { return r.text }

func (r *remoteError) Is(target error) bool { return r.is != nil && r.is == target }

func (r *remoteError) Unwrap() error { return r.cause }
