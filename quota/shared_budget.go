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

// A SharedBudget is what all processes may use together, kept in a [UsageFile].
//
// Before a call of a model its maximal usage is reserved; afterwards the actual usage is added and the rest
// released. A reservation is a file that its process holds locked. When the process ends without releasing it,
// the whole reservation counts as used. So the sum of usage and reservations never exceeds the total, and no
// reservation outlives its process.
type SharedBudget struct {
	UsageFile
	Tokens   int64              // weighted
	Weights  map[string]Weights // as in a [Budget]
	Patience time.Duration      // how long to wait for what others have reserved; zero means two minutes
}

// A Need is the maximal usage of one call.
type Need struct {
	Model  string
	Input  int64 // tokens
	Cached int64 // tokens, besides those
	Output int64 // tokens that the answer may have
	Least  int64 // tokens that it must be allowed to have at least; more than Output means Output
}

// A Reservation is reserved for one call. A nil one reserves nothing. It must be settled.
type Reservation struct {
	Output int64 // tokens that the answer may have
	total  *SharedBudget
	note   reservationFile
	held   *ownerfile.LockedFile
}

// A reservationFile is the content of the file of a reservation.
type reservationFile struct {
	Period string `json:"period"`
	Model  string `json:"model"`
	Usage  Usage  `json:"usage"` // the most that the call may use
}

// Reserve reserves what a call needs. If others have reserved what is left, it waits until they release it. The
// error is [fault.Exhausted] if there is too little.
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

// try reserves if there is enough; busy is the error if there may be enough once others release what they do not
// use.
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

// set writes the reservation. The caller holds the lock of the usage file.
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

// Settle adds the actual usage of the call and releases the rest. If that cannot be written, the reservation
// stays.
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

// reclaim adds the reservations of dead processes to the usage. It returns the usage, and the reservations of
// living processes in quarters. The caller holds the lock of the usage file.
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

// Reclaim counts the reservations of dead processes as used.
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

// abandoned is the age at which a reservation counts as that of a dead process even if it is locked, or where
// there are no locks (Windows). No call takes as long; if one does, its usage is counted twice.
const abandoned = 6 * time.Hour

// reclaim returns the reservations of living processes; the others become usage. The caller holds the lock.
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

// charge turns a reservation into usage.
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

// look reads a reservation and reports whether its process is dead. An incomplete one of a dead process was never
// given out.
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
