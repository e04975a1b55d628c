// Package fault defines the error type that all packages return.
//
// A failure is shown in five places: on a terminal, as an exit status, in an HTTP
// response, in an MCP result and in a message to a model. They depend on the [Kind]
// of the failure, never on its text.
package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
)

// A Kind is a class of failure.
type Kind uint8

// The kinds. Other means unclassified: a bug worth reporting.
const (
	Other       Kind = iota
	Invalid          // the input makes no sense
	Denied           // the policy, or a person, said no
	Exhausted        // a quota or limit ran out
	Timeout          // the time allowed ran out
	NotFound         // no such file, command, model
	TooLarge         // over a size limit
	Unavailable      // a service we rely on did not answer
)

var kindNames = [...]string{"other", "invalid", "denied", "exhausted", "timeout", "not_found", "too_large",
	"unavailable"}

// String returns the kind as it is spelled in JSON.
func (k Kind) String() string { return kindNames[k] }

// An Error has what was attempted, on what, and why it failed. Only Kind and Op are
// required.
type Error struct {
	Kind    Kind
	Op      string // a verb: "run", "open", "ask model"
	Subject string // its object, as the user wrote it
	Why     string // the reason, in words
	Rule    string // file:line of the rule that decided, when one did
	Hint    string // what the reader can do next; never part of Error()
	// FlagHint is the Hint for the command line; empty means Hint. Models, MCP clients
	// and web pages cannot give flags, so that Hint names settings.
	FlagHint string
	Later    bool  // retryable, although its Kind does not imply it
	Err      error // the cause, if it came from below
}

// Error implements error as "op subject: why: cause".
func (e *Error) Error() string {
	parts := []string{strings.TrimSpace(e.Op + " " + e.Subject)}
	if e.Why != "" {
		parts = append(parts, e.Why)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	text := strings.Join(parts, ": ")
	if e.Rule != "" {
		text += " (" + e.Rule + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON implements [json.Marshaler] for models and programs. A refusal is
// marked as not retryable, so that a model does not repeat it.
func (e *Error) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // commands are full of < and >
	err := enc.Encode(struct {
		Kind      string `json:"kind"`
		Command   string `json:"command,omitempty"`
		Reason    string `json:"reason"`
		Rule      string `json:"rule,omitempty"`
		Hint      string `json:"hint,omitempty"`
		Retryable bool   `json:"retryable"`
	}{e.Kind.String(), e.Subject, e.reason(), e.Rule, e.Hint, e.Kind == Unavailable || e.Later})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (e *Error) reason() string {
	if e.Why == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Why
}

// KindOf returns the kind of the outermost Error in err's chain that has one.
func KindOf(err error) Kind {
	if e := first(err, func(e *Error) bool { return e.Kind != Other }); e != nil {
		return e.Kind
	}
	return Other
}

// Hint returns the first hint in err's chain.
func Hint(err error) string {
	if e := first(err, func(e *Error) bool { return e.Hint != "" }); e != nil {
		return e.Hint
	}
	return ""
}

// FlagHint returns the first hint in err's chain for the command line.
func FlagHint(err error) string {
	if e := first(err, func(e *Error) bool { return e.Hint != "" || e.FlagHint != "" }); e != nil {
		return cmp.Or(e.FlagHint, e.Hint)
	}
	return ""
}

// first returns the first Error in the tree of err for which fits returns true.
func first(err error, fits func(*Error) bool) *Error {
	for ; err != nil; err = errors.Unwrap(err) {
		if e, ok := err.(*Error); ok && fits(e) {
			return e
		}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range several.Unwrap() {
				if e := first(one, fits); e != nil {
					return e
				}
			}
		}
	}
	return nil
}
