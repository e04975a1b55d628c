package queue

import (
	"context"
	"errors"
	"time"

	"hako/run/fault"
)

// effect is what a record knows about a side effect.
type effect struct {
	Token uint64    `json:"token"`           // who began it last
	Done  bool      `json:"done"`            // it happened; otherwise it was only begun
	Ref   string    `json:"ref,omitempty"`   // where its outcome is
	Large *blob     `json:"large,omitempty"` // that, if it is too large to be here
	At    time.Time `json:"at"`
}

// An Effect is something the world will notice: a comment, a push, a pull request.
type Effect struct {
	// Do makes it happen and returns where its outcome is, or what it was; both
	// may be large. Its context ends with the lease. After an error nobody knows whether it happened, unless the error
	// comes from [Undone].
	Do func(ctx context.Context) (ref string, err error)
	// Look finds out whether it happened, when that is in doubt. Nil means that
	// it cannot be found out: then the answer is ErrDoubtful.
	Look func(ctx context.Context) (ref string, happened bool, err error)
}

type undone struct{ error }

func (u undone) Unwrap() error { return u.error }

// Undone marks the error of an effect that certainly did not happen, such as one
// that was refused. It may be tried again without looking.
func Undone(err error) error { return undone{err} }

// Once makes a side effect happen once in the life of a task, however many
// workers come to it. The name tells the effects of a task apart. That it is
// about to happen is recorded before, and where its outcome is afterwards.
func (l *Lease) Once(ctx context.Context, name string, e Effect) (ref string, err error) {
	ctx, cancel := l.within(ctx)
	defer cancel()
	known, begun, err := l.effect(name)
	switch {
	case err != nil:
		return "", err
	case known.Done:
		return l.ref(ctx, name, known)
	case begun:
		ref, happened, err := l.doubt(ctx, name, e)
		if err != nil || happened {
			return ref, err
		}
	}
	if err := l.note(ctx, name, effect{Token: l.Token}); err != nil {
		return "", err
	}
	ref, err = e.Do(ctx)
	if certain := (undone{}); errors.As(err, &certain) {
		return "", errors.Join(certain.error, l.unnote(ctx, name))
	}
	if err != nil {
		return "", err
	}
	return ref, l.happened(ctx, name, ref)
}

// happened records where the outcome of an effect is.
func (l *Lease) happened(ctx context.Context, name, ref string) error {
	e := effect{Token: l.Token, Done: true, Ref: ref}
	if len(ref) > inlineRef {
		p, err := l.pack(ctx, "record "+name, []byte(ref))
		if err != nil {
			return err
		}
		e.Ref, e.Large = "", p
	}
	return l.note(ctx, name, e)
}

// ref returns where the outcome of an effect is that happened before.
func (l *Lease) ref(ctx context.Context, name string, e effect) (string, error) {
	if e.Large == nil {
		return e.Ref, nil
	}
	ref, err := l.q.unpack(ctx, "read "+name+" of", l.Item.ID, e.Large)
	return string(ref), err
}

// doubt asks the world about an effect that was begun.
func (l *Lease) doubt(ctx context.Context, name string, e Effect) (ref string, happened bool, err error) {
	if e.Look == nil {
		return "", false, &fault.Error{Kind: fault.Other, Op: "repeat", Subject: name + " of " + l.Item.ID, Err: ErrDoubtful,
			Hint: "look whether it happened, and settle it"}
	}
	ref, happened, err = e.Look(ctx)
	if err == nil && happened {
		err = l.happened(ctx, name, ref)
	}
	return ref, happened, err
}

// Settle ends a doubt: the effect happened and its outcome is at ref, or it did
// not and may be tried again.
func (l *Lease) Settle(ctx context.Context, name, ref string, happened bool) error {
	if happened {
		return l.happened(ctx, name, ref)
	}
	return l.unnote(ctx, name)
}

func (l *Lease) effect(name string) (e effect, begun bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return effect{}, false, l.over
	}
	e, begun = l.now.Effects[name]
	return e, begun, nil
}

func (l *Lease) note(ctx context.Context, name string, e effect) error {
	e.At = time.Now().UTC()
	return l.update(ctx, "record "+name, func(r *record) error {
		if r.Effects == nil {
			r.Effects = map[string]effect{}
		}
		r.Effects[name] = e
		return nil
	})
}

func (l *Lease) unnote(ctx context.Context, name string) error {
	return l.update(ctx, "record "+name, func(r *record) error { delete(r.Effects, name); return nil })
}

// within returns a context that ends with the lease.
func (l *Lease) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.life, cancel)
	return ctx, func() { stop(); cancel() }
}
