package command

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A jqRun is one program with what it may see.
type jqRun struct {
	*jqMeter
	globals map[string]any
	input   func() (any, error) // io.EOF after the last
	where   func() (file any, line int)
	via     map[string]jqScalar
	names   func() any // all builtins

	// lent is what the next update may change in place, see [jqCompiler.reduce].
	lent     jqOwner
	patterns map[string]*jqRegexp
}

// evaluate runs a whole program on one input.
func (r *jqRun) evaluate(f jqFilter, v any, take func(any) error) error {
	r.roots, r.calls, r.extra = r.roots[:0], 0, nil
	at, err := r.enter()
	if err != nil {
		return err
	}
	r.roots[at].v = v
	err = f(nil, v, nil, func(x any, _ *jqPath) error {
		r.extra = x
		return take(x)
	})
	r.leave(at)
	return err
}

// A jqError is an error that the program can catch.
type jqError struct{ val any }

func (e *jqError) Error() string {
	if s, ok := e.val.(string); ok {
		return s
	}
	return "error with a value"
}

// A jqBreak leaves a label.
type jqBreak struct{ _ byte }

func (*jqBreak) Error() string { return "break" }

// A jqHalt ends the program.
type jqHalt struct {
	val    any
	silent bool
	status int
}

func (*jqHalt) Error() string { return "halt" }

// A jqPassed error comes from whoever took a result, not from the filter that
// gave it: a try around the filter must let it pass.
type jqPassed struct{ err error }

func (e *jqPassed) Error() string { return e.err.Error() }
func (e *jqPassed) Unwrap() error { return e.err }

func (r *jqRun) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if err := r.alloc(int64(len(text)) + 64); err != nil {
		return err
	}
	return &jqError{text}
}

// try passes the results of body on until it fails; catch gets the error.
func (r *jqRun) try(body, catch jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.enter()
		if err != nil {
			return err
		}
		defer r.leave(at)
		err = body(e, v, p, func(x any, xp *jqPath) error {
			if err := out(x, xp); err != nil {
				return &jqPassed{err}
			}
			return nil
		})
		switch err := err.(type) {
		case *jqPassed:
			return err.err
		case *jqError:
			if catch == nil {
				return nil
			}
			r.roots[at].v = err.val
			return catch(e, err.val, nil, func(x any, _ *jqPath) error { return out(x, p.lost()) })
		}
		return err
	}
}

// collect gathers all results.
func (r *jqRun) collect(f jqFilter, e *jqEnv, v any) (items []any, err error) {
	at, err := r.enter()
	if err != nil {
		return nil, err
	}
	r.roots[at].v = &items
	err = f(e, v, nil, func(x any, _ *jqPath) error {
		if len(items) == cap(items) {
			r.extra = x
			if err := r.alloc(int64(len(items))*20 + 64); err != nil {
				return err
			}
		}
		items = append(items, x)
		return r.step()
	})
	r.leave(at)
	return items, err
}

// counted gives a filter that calls others an entry while it runs.
func (r *jqRun) counted(f jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, out)
		r.leave(at)
		return err
	}
}

// one returns the first result; ok is false if there is none.
func (r *jqRun) one(f jqFilter, e *jqEnv, v any) (first any, ok bool, err error) {
	stop := &jqBreak{}
	err = f(e, v, nil, func(x any, _ *jqPath) error {
		first, ok = x, true
		return stop
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return first, ok, err
}

// jqUntil runs f until take wants no more.
func jqUntil(f jqFilter, e *jqEnv, v any, p *jqPath, take func(x any, xp *jqPath) (more bool, err error)) error {
	stop := &jqBreak{}
	err := f(e, v, p, func(x any, xp *jqPath) error {
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

func newJqRun(ctx context.Context, h jqHost) *jqRun {
	return &jqRun{
		jqMeter: newJqMeter(ctx, h), globals: map[string]any{}, via: map[string]jqScalar{}, patterns: map[string]*jqRegexp{},
		input: func() (any, error) { return nil, io.EOF }, where: func() (any, int) { return nil, 0 },
		names: jqBuiltinNames,
	}
}
