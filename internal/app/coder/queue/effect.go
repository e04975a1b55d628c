package queue

import (
	"context"
	"errors"
	"time"
)

// An effect is what a record knows about a side effect.
type effect struct {
	Token uint64    `json:"token"`           // of the worker that began it last
	Done  bool      `json:"done"`            // it happened; otherwise it was only begun
	Ref   string    `json:"ref,omitempty"`   // its outcome, or a reference to it
	Large *blob     `json:"large,omitempty"` // the same, if it is too large for the record
	At    time.Time `json:"at"`
}

type undone struct{ error }

func (u undone) Unwrap() error { return u.error }

// Undone marks the error of a side effect that certainly did not happen, such as one
// that was refused. Its next attempt is not a repetition.
func Undone(err error) error { return undone{err} }

// Once carries out a side effect (a comment, a push, a pull request) once in the life
// of a task, however many workers come to it. The name identifies the effect within
// the task. The intention is recorded before, and the outcome, which may be large,
// after. The context of do ends with the lease.
//
// After an error nobody knows whether the effect happened, unless the error comes
// from [Undone]. The next call then has again set, and do must find out what it did.
func (l *Lease) Once(ctx context.Context, name string, do func(ctx context.Context, again bool) (string, error)) (
	ref string, err error) {
	ctx, cancel := l.within(ctx)
	defer cancel()
	known, err := l.held()
	if err != nil {
		return "", err
	}
	before, again := known.Effects[name]
	if before.Done {
		return l.ref(ctx, name, before)
	}
	if err := l.recordEffect(ctx, name, effect{Token: l.Token}); err != nil {
		return "", err
	}
	ref, err = do(ctx, again)
	if certain, ok := errors.AsType[undone](err); ok {
		forgotten := l.update(ctx, "record "+name, func(r *record) error { delete(r.Effects, name); return nil })
		return "", errors.Join(certain.error, forgotten)
	}
	if err != nil {
		return "", err
	}
	e := effect{Token: l.Token, Done: true, Ref: ref}
	if len(ref) > maxInlineRef {
		if e.Large, err = l.writeBlob(ctx, "record "+name, []byte(ref)); err != nil {
			return ref, err
		}
		e.Ref = ""
	}
	return ref, l.recordEffect(ctx, name, e)
}

// ref returns the outcome of an effect that happened before.
func (l *Lease) ref(ctx context.Context, name string, e effect) (string, error) {
	if e.Large == nil {
		return e.Ref, nil
	}
	ref, err := l.q.readBlob(ctx, "read "+name+" of", l.Item.ID, e.Large)
	return string(ref), err
}

func (l *Lease) recordEffect(ctx context.Context, name string, e effect) error {
	e.At = time.Now().UTC()
	return l.update(ctx, "record "+name, func(r *record) error {
		if r.Effects == nil {
			r.Effects = map[string]effect{}
		}
		r.Effects[name] = e
		return nil
	})
}

// within returns a context that ends with the lease.
func (l *Lease) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.life, cancel)
	return ctx, func() { stop(); cancel() }
}
