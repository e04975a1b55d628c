package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hako/run/fault"
)

// A Retry retries after 429 and 5xx, with growing pauses, but not once part of an answer was streamed.
type Retry struct {
	Model Model
	Tries int           // in all; zero means 4
	Pause time.Duration // before the second try, doubled each time; zero means 1 s
	Most  time.Duration // a longer Retry-After is not waited for; zero means 2 minutes

	Notify func(Waiting)                              // is called before each pause; nil means nothing is called
	Sleep  func(context.Context, time.Duration) error // nil means a timer
	Jitter func(time.Duration) time.Duration          // randomizes a pause; nil means by up to 50 %
}

// Waiting is a pause before the next try.
type Waiting struct {
	Tried, Tries int
	Wait         time.Duration
	Err          error // of the last try
}

// Next implements [Model].
func (r *Retry) Next(ctx context.Context, d *Dialog) (*Turn, error) {
	wrapped := *d
	spoken := false
	if say := d.OnText; say != nil {
		wrapped.OnText = func(piece string) {
			spoken = spoken || piece != ""
			say(piece)
		}
	}
	tries := cmp.Or(r.Tries, 4)
	for tried := 1; ; tried++ {
		turn, err := r.Model.Next(ctx, &wrapped)
		wait, again := r.again(err, tried)
		if wait > 0 && !again {
			return nil, tooLong(err, wait)
		}
		if err == nil || !again || spoken || tried >= tries || ctx.Err() != nil {
			return turn, err
		}
		if r.Notify != nil {
			r.Notify(Waiting{tried, tries, wait, err})
		}
		if err := r.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// again reports whether to try once more, and after what pause.
func (r *Retry) again(err error, tried int) (time.Duration, bool) {
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || !refusal.Retry {
		return 0, false
	}
	if refusal.After > 0 {
		return refusal.After, refusal.After <= cmp.Or(r.Most, 2*time.Minute)
	}
	wait := cmp.Or(r.Pause, time.Second) << (tried - 1)
	if r.Jitter != nil {
		return r.Jitter(wait), true
	}
	return wait/2 + rand.N(wait), true
}

// tooLong is the error for a pause that is not waited for.
func tooLong(err error, wait time.Duration) error {
	return &fault.Error{Kind: fault.KindOf(err), Op: "wait for the provider",
		Why: fmt.Sprintf("it asks for %v, which is not worth waiting for", wait.Round(time.Second)),
		Err: err, Hint: fmt.Sprintf("try again in %v", wait.Round(time.Second))}
}

func (r *Retry) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
