package quota

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A SharedBudget is what all runs together may use, kept in a [UsageFile] that they share.
//
// Before a call of a model the most that it may use is reserved; after it, what
// it did use is added and the rest given back. A reservation is a file that its
// process holds locked. The lock goes with the process, however it ends: then
// all that was reserved counts as used, as nobody knows how much of it was. So
// the sum of what was used and what is reserved never passes the total, and no
// reservation outlives its process.
type SharedBudget struct {
	UsageFile
	Tokens   int64              // weighted
	Weights  map[string]Weights // as in a [Budget]
	Patience time.Duration      // how long to wait for what others have reserved; zero means two minutes
}

// A Need is the most that one call may use.
type Need struct {
	Model  string
	Input  int64 // tokens
	Cached int64 // tokens, besides those
	Output int64 // tokens that the answer may have
	Least  int64 // tokens that it must be allowed to have at least; more than Output means Output
}

// A Reservation is what was set aside for one call. A nil one reserves nothing.
// It must be settled.
type Reservation struct {
	Output int64 // tokens that the answer may have
	total  *SharedBudget
	note   reservationFile
	held   *ownerfile.LockedFile
}

// A reservationFile is what the file of a reservation holds.
type reservationFile struct {
	Period string `json:"period"`
	Model  string `json:"model"`
	Usage  Usage  `json:"usage"` // the most that the call may use
}

// Reserve sets aside what a call needs. If others have reserved what is left, it
// waits until they give it back. The error is [fault.Exhausted] if there is too
// little.
func (t *SharedBudget) Reserve(ctx context.Context, n Need) (*Reservation, error) {
	n.Least = min(n.Least, n.Output)
	patience := t.Patience
	if patience == 0 {
		patience = 2 * time.Minute
	}
	for end := time.Now().Add(patience); ; {
		r, busy, err := t.try(n)
		if err != nil || r != nil {
			return r, err
		}
		if time.Now().After(end) {
			return nil, busy
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// try reserves if there is enough; busy is what is wrong if there will be enough
// should others give back what they do not use.
func (t *SharedBudget) try(n Need) (r *Reservation, busy, err error) {
	err = t.UsageFile.locked(func() error {
		p, reserved, err := t.reclaim()
		if err != nil {
			return err
		}
		w := New(Limits{Weights: t.Weights}).weightsOf(n.Model)
		spent, limit := t.quarters(p), times(t.Tokens, 4)
		least := w.Quarters(Usage{Input: n.Input, Cached: n.Cached, Output: n.Least})
		switch left := limit - min(spent, limit); {
		case spent >= limit || least > left:
			return t.tooLittle(whole(spent), whole(least), 0)
		case least > left-min(reserved, left):
			busy = t.tooLittle(whole(spent), whole(least), whole(reserved))
			return nil
		default:
			left -= reserved + w.Quarters(Usage{Input: n.Input, Cached: n.Cached})
			if w.Output > 0 {
				n.Output = min(n.Output, left/w.Output)
			}
		}
		r, err = t.set(n)
		return err
	})
	return r, busy, err
}

func (t *SharedBudget) tooLittle(spent, need, reserved int64) error {
	why := fmt.Sprintf("all runs together used %d of %d tokens", spent, t.Tokens)
	if spent < t.Tokens {
		why += fmt.Sprintf(", and this call may use %d", need)
	}
	if reserved > 0 {
		why += fmt.Sprintf(" while others have reserved %d", reserved)
	}
	return &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: why,
		Hint: "raise quota.total_tokens, or begin anew with hako quota reset"}
}

// set writes the reservation down. The caller holds the lock of the state.
func (t *SharedBudget) set(n Need) (*Reservation, error) {
	r := &Reservation{Output: n.Output, total: t}
	r.note = reservationFile{Period: Day(time.Now()), Model: n.Model, Usage: Usage{Input: n.Input, Cached: n.Cached,
		Output: n.Output, Calls: 1}}
	text, err := json.Marshal(r.note)
	if err != nil {
		return nil, err
	}
	r.held, err = ownerfile.Hold(filepath.Join(t.UsageFile.reservations(), rand.Text()+".json"), append(text, '\n'))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Settle adds what the call did use to the state, and gives the rest back. If
// that cannot be written down, the reservation stays.
func (r *Reservation) Settle(u Usage) error {
	if r == nil {
		return nil
	}
	return r.total.UsageFile.locked(func() error {
		p, err := r.total.UsageFile.Show()
		if err != nil {
			return err
		}
		p.add(r.note.Period, r.note.Model, u)
		if err := r.total.UsageFile.write(p); err != nil {
			return err
		}
		return r.held.Release() // killed before this, it counts twice: too much rather than too little
	})
}

func (t *SharedBudget) quarters(p Periods) int64 { return p.quarters(t.Weights) }

// reclaim adds what dead processes had reserved to the usage, and returns the
// usage and how much the living have reserved, in quarters. The caller holds the
// lock of the state.
func (t *SharedBudget) reclaim() (Periods, int64, error) {
	living, err := t.UsageFile.reclaim()
	if err != nil {
		return nil, 0, err
	}
	p, err := t.UsageFile.Show()
	var reserved int64
	scale := New(Limits{Weights: t.Weights})
	for _, n := range living {
		reserved = plus(reserved, scale.weightsOf(n.Model).Quarters(n.Usage))
	}
	return p, reserved, err
}

// Reclaim counts as used what processes had reserved that are no more.
func (s UsageFile) Reclaim() error {
	if names, err := s.reserved(); err != nil || len(names) == 0 {
		return err
	}
	return s.locked(func() error {
		_, err := s.reclaim()
		return err
	})
}

func (s UsageFile) reservations() string { return s.Path + ".reserved" }

func (s UsageFile) reserved() ([]string, error) {
	return filepath.Glob(filepath.Join(s.reservations(), "*.json"))
}

// abandoned is after how long a reservation is taken for nobody's also where a
// lock says otherwise, or where there are no locks to tell it by (Windows). No
// call takes as long; should one, its use is counted twice rather than not.
const abandoned = 6 * time.Hour

// reclaim returns the reservations of the living; those of others become usage.
// The caller holds the lock.
func (s UsageFile) reclaim() (living []reservationFile, err error) {
	names, err := s.reserved()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n, dead, err := look(name)
		if err == nil && dead {
			err = s.charge(n, name)
		} else if err == nil {
			living = append(living, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return living, nil
}

// charge makes usage of a reservation.
func (s UsageFile) charge(n reservationFile, name string) error {
	if n.Period != "" {
		p, err := s.Show()
		if err != nil {
			return err
		}
		p.add(n.Period, n.Model, n.Usage)
		if err := s.write(p); err != nil {
			return err
		}
	}
	return ownerfile.Forget(name)
}

// look reads a reservation and tells whether its process is gone. One of the dead
// that is not whole was never given out: it is written before that.
func look(name string) (n reservationFile, dead bool, err error) {
	text, dead, err := ownerfile.Look(name, abandoned)
	if err != nil {
		return n, dead, err
	}
	if json.Unmarshal(text, &n) != nil {
		n = reservationFile{}
		if !dead {
			err = &fault.Error{Kind: fault.Invalid, Op: "read reservation", Subject: name, Why: "it is not whole",
				Hint: "remove the file if no hako runs"}
		}
	}
	return n, dead, err
}
