package health

import (
	"context"
	"errors"
	"fmt"

	"hako/run/fault"
)

// A boundedCall calls a function that may hang. One caller at a time waits for it, so
// that probes of a hanging part do not pile up.
type boundedCall struct {
	call func(context.Context) (map[string]int, error)
	busy chan struct{} // full while somebody calls
}

func newBoundedCall(call func(context.Context) (map[string]int, error)) *boundedCall {
	return &boundedCall{call, make(chan struct{}, 1)}
}

// do returns within the time limit even if the function ignores its context.
func (b *boundedCall) do(ctx context.Context) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case b.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, timeoutError(ctx)
	}
	type result struct {
		values map[string]int
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-b.busy }()
		values, err := b.safely(ctx)
		done <- result{values, err}
	}()
	select {
	case r := <-done:
		return r.values, r.err
	case <-ctx.Done():
		return nil, timeoutError(ctx)
	}
}

// safely keeps a panic in the function from ending the daemon.
func (b *boundedCall) safely(ctx context.Context) (values map[string]int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Op: "check health", Why: fmt.Sprint("panic: ", p)}
		}
	}()
	return b.call(ctx)
}

func timeoutError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &fault.Error{Kind: fault.Timeout, Op: "check health", Why: fmt.Sprintf("no answer within %v", callTimeout)}
}
