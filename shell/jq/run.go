package jq

import (
	"context"
	"fmt"
	"io"
)

// A Run compiles and runs one program.
type Run struct {
	*Usage
	Globals map[string]any
	Input   func() (any, error) // io.EOF after the last
	Where   func() (file any, line int)
	via     map[string]scalar
	names   func() any // all builtins

	// lent are the containers that the next update may change in place, see [compiler.reduce].
	lent     owner
	patterns map[string]*matcher
}

// Evaluate runs a whole program on one input. A limit that is exceeded meanwhile
// ends it by a panic, see [Usage.Guard].
func (r *Run) Evaluate(f Filter, v any, take func(any) error) error {
	r.roots, r.calls, r.extra = r.roots[:0], 0, nil
	at := r.Enter()
	r.roots[at].v = v
	err := f(nil, v, nil, func(x any, _ *valuePath) error {
		r.extra = x
		return take(x)
	})
	r.Leave(at)
	return err
}

// An Error is an error that the program can catch.
type Error struct{ Val any }

func (e *Error) Error() string {
	if s, ok := e.Val.(string); ok {
		return s
	}
	return "error with a value"
}

// A breakError leaves the label whose mark it is.
type breakError struct{ _ byte }

func (*breakError) Error() string { return "break" }

// A Halt ends the program.
type Halt struct {
	Val    any
	Silent bool
	Status int
}

func (*Halt) Error() string { return "halt" }

// An emitError comes from the receiver of a result, not from the filter that
// produced it: a try around the filter must not catch it.
type emitError struct{ err error }

func (e *emitError) Error() string { return e.err.Error() }
func (e *emitError) Unwrap() error { return e.err }

func (r *Run) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	r.Alloc(int64(len(text)) + 64)
	return &Error{text}
}

// describe names the type of a value and shows the beginning of it, for error messages.
func (r *Run) describe(v any) string { return fmt.Sprintf("%s (%s)", typeOf(v), r.preview(v)) }

// try passes the results of body on until it fails; catch gets the error.
func (r *Run) try(body, catch Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := r.Enter()
		defer r.Leave(at)
		err := body(e, v, p, func(x any, xp *valuePath) error {
			if err := out(x, xp); err != nil {
				return &emitError{err}
			}
			return nil
		})
		switch err := err.(type) {
		case *emitError:
			return err.err
		case *Error:
			if catch == nil {
				return nil
			}
			r.roots[at].v = err.Val
			return catch(e, err.Val, nil, func(x any, _ *valuePath) error { return out(x, p.computed()) })
		}
		return err
	}
}

// collect gathers all results.
func (r *Run) collect(f Filter, e *scope, v any) (items []any, err error) {
	at := r.Enter()
	r.roots[at].v = &items
	err = f(e, v, nil, func(x any, _ *valuePath) error {
		if len(items) == cap(items) {
			r.extra = x
			r.Alloc(int64(len(items))*20 + 64)
		}
		items = append(items, x)
		r.step()
		return nil
	})
	r.Leave(at)
	return items, err
}

// combine calls out for each combination of the results of filters; the results of
// the first vary slowest. out must not keep its argument.
func (r *Run) combine(filters []Filter, e *scope, v any, out func(vals []any) error) error {
	vals := make([]any, len(filters))
	var from func(i int) error
	from = func(i int) error {
		if i == len(filters) {
			return out(vals)
		}
		at := r.Enter()
		err := filters[i](e, v, nil, func(x any, _ *valuePath) error {
			vals[i], r.roots[at].v = x, x
			return from(i + 1)
		})
		r.Leave(at)
		return err
	}
	return from(0)
}

// counted gives a filter that calls others an entry while it runs.
func (r *Run) counted(f Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := r.Enter()
		err := f(e, v, p, out)
		r.Leave(at)
		return err
	}
}

// takeUntil runs f until take returns more == false.
func takeUntil(f Filter, e *scope, v any, p *valuePath, take func(x any, xp *valuePath) (more bool, err error)) error {
	stop := &breakError{}
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
		Usage: newUsage(ctx, h), Globals: map[string]any{}, via: map[string]scalar{}, patterns: map[string]*matcher{},
		Input: func() (any, error) { return nil, io.EOF }, Where: func() (any, int) { return nil, 0 },
		names: builtinNames,
	}
}
