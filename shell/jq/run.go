package jq

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A Run is one program with what it may see.
type Run struct {
	*Meter
	Globals map[string]any
	Input   func() (any, error) // io.EOF after the last
	Where   func() (file any, line int)
	via     map[string]scalar
	names   func() any // all builtins

	// lent is what the next update may change in place, see [compiler.reduce].
	lent     owner
	patterns map[string]*Regexp
}

// Evaluate runs a whole program on one input.
func (r *Run) Evaluate(f Filter, v any, take func(any) error) error {
	r.roots, r.calls, r.extra = r.roots[:0], 0, nil
	at, err := r.Enter()
	if err != nil {
		return err
	}
	r.roots[at].v = v
	err = f(nil, v, nil, func(x any, _ *valuePath) error {
		r.extra = x
		return take(x)
	})
	r.Leave(at)
	return err
}

// A Error is an error that the program can catch.
type Error struct{ Val any }

func (e *Error) Error() string {
	if s, ok := e.Val.(string); ok {
		return s
	}
	return "error with a value"
}

// A Break leaves a label.
type Break struct{ _ byte }

func (*Break) Error() string { return "break" }

// A Halt ends the program.
type Halt struct {
	Val    any
	Silent bool
	Status int
}

func (*Halt) Error() string { return "halt" }

// A Passed error comes from whoever took a result, not from the filter that
// gave it: a try around the filter must let it pass.
type Passed struct{ Err error }

func (e *Passed) Error() string { return e.Err.Error() }
func (e *Passed) Unwrap() error { return e.Err }

func (r *Run) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if err := r.Alloc(int64(len(text)) + 64); err != nil {
		return err
	}
	return &Error{text}
}

// try passes the results of body on until it fails; catch gets the error.
func (r *Run) try(body, catch Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := r.Enter()
		if err != nil {
			return err
		}
		defer r.Leave(at)
		err = body(e, v, p, func(x any, xp *valuePath) error {
			if err := out(x, xp); err != nil {
				return &Passed{err}
			}
			return nil
		})
		switch err := err.(type) {
		case *Passed:
			return err.Err
		case *Error:
			if catch == nil {
				return nil
			}
			r.roots[at].v = err.Val
			return catch(e, err.Val, nil, func(x any, _ *valuePath) error { return out(x, p.lost()) })
		}
		return err
	}
}

// collect gathers all results.
func (r *Run) collect(f Filter, e *scope, v any) (items []any, err error) {
	at, err := r.Enter()
	if err != nil {
		return nil, err
	}
	r.roots[at].v = &items
	err = f(e, v, nil, func(x any, _ *valuePath) error {
		if len(items) == cap(items) {
			r.extra = x
			if err := r.Alloc(int64(len(items))*20 + 64); err != nil {
				return err
			}
		}
		items = append(items, x)
		return r.step()
	})
	r.Leave(at)
	return items, err
}

// counted gives a filter that calls others an entry while it runs.
func (r *Run) counted(f Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := r.Enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, out)
		r.Leave(at)
		return err
	}
}

// one returns the first result; ok is false if there is none.
func (r *Run) one(f Filter, e *scope, v any) (first any, ok bool, err error) {
	stop := &Break{}
	err = f(e, v, nil, func(x any, _ *valuePath) error {
		first, ok = x, true
		return stop
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return first, ok, err
}

// takeUntil runs f until take wants no more.
func takeUntil(f Filter, e *scope, v any, p *valuePath, take func(x any, xp *valuePath) (more bool, err error)) error {
	stop := &Break{}
	err := f(e, v, p, func(x any, xp *valuePath) error {
		more, err := take(x, xp)
		if err == nil && !more {
			return stop
		}
		return err
	})
	if err == error(stop) {
		return nil
	}
	return err
}

func New(ctx context.Context, h Host) *Run {
	return &Run{
		Meter: newMeter(ctx, h), Globals: map[string]any{}, via: map[string]scalar{}, patterns: map[string]*Regexp{},
		Input: func() (any, error) { return nil, io.EOF }, Where: func() (any, int) { return nil, 0 },
		names: builtinNames,
	}
}
