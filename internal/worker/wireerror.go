package worker

import (
	"context"
	"errors"

	"hako/run/fault"
)

// A wireError is an error as it crosses the link: the chain of ours, and texts
// for the rest.
type wireError struct {
	Fault *wireFault `json:"fault,omitempty"`
	Text  string     `json:"text,omitempty"`
	Is    string     `json:"is,omitempty"` // a sentinel that callers compare with
	Cause *wireError `json:"cause,omitempty"`
}

type wireFault struct {
	Kind                         fault.Kind
	Op, Subject, Why, Rule, Hint string
	FlagHint                     string
	Later                        bool
}

// sentinels are errors that callers recognize by identity.
var sentinels = map[string]error{"canceled": context.Canceled, "deadline": context.DeadlineExceeded}

// maxCauses bounds the chain that is sent.
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
	if errors.As(err, &e) { // a text around one of ours: its kind and hint must not be lost
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
	return &received{text: w.Text, is: sentinels[w.Is], cause: w.Cause.decode()}
}

// received is an error of the other side that is none of ours.
type received struct {
	text      string
	is, cause error
}

// Error implements error.
func (r *received) Error() string { return r.text }

// Is reports whether the error was, or wrapped, the sentinel target.
func (r *received) Is(target error) bool { return r.is != nil && r.is == target }

// Unwrap returns the error of ours that it wrapped, if any.
func (r *received) Unwrap() error { return r.cause }
