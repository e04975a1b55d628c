package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hako/run/fault"
)

// A question is put to another part of the daemon, which may hang. One asker at
// a time waits for it, so that probes to a hanging part do not pile up.
type question[T any] struct {
	limit time.Duration
	ask   func(context.Context) (T, error)
	turn  chan struct{} // full while somebody asks
}

func newQuestion[T any](limit time.Duration, ask func(context.Context) (T, error)) *question[T] {
	return &question[T]{limit, ask, make(chan struct{}, 1)}
}

// answer asks, and waits no longer than the limit even if the asked one does
// not mind its context.
func (q *question[T]) answer(ctx context.Context) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	var got T
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return got, q.late(ctx)
	}
	done := make(chan error, 1)
	value := new(T) // got is ours, this one belongs to a goroutine that may be late
	go func() {
		defer func() { <-q.turn }()
		done <- q.safely(ctx, value)
	}()
	select {
	case err := <-done:
		return *value, err
	case <-ctx.Done():
		return got, q.late(ctx)
	}
}

// safely keeps a mistake in a mere question from ending the daemon.
func (q *question[T]) safely(ctx context.Context, value *T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Op: "ask how it fares", Why: fmt.Sprint("panic: ", p)}
		}
	}()
	*value, err = q.ask(ctx)
	return err
}

func (q *question[T]) late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &fault.Error{Kind: fault.Timeout, Op: "ask how it fares", Why: fmt.Sprintf("no answer within %v", q.limit)}
}
