package records

import (
	"context"
	"slices"
	"time"

	"hako/audit"
	"hako/audit/sqlite"
	"hako/run/fault"
)

const (
	maxListed = 20  // commands, denials and actors
	maxDays   = 400 // of a chart
)

// Stats implements [hako/internal/web/api.Record]. A missing record has no statistics.
func (r *Record) Stats(ctx context.Context, since time.Time) (Stats, error) {
	size, err := r.size()
	if err != nil {
		return Stats{}, unlessMissing(err)
	}
	index, err := r.opened()
	if err != nil {
		return Stats{}, err
	}
	if err := r.waitIndexed(ctx, size); err != nil {
		return Stats{}, err
	}
	figures, err := index.Figures(ctx, since, maxDays)
	if err != nil {
		return Stats{}, r.drop(index, err)
	}
	return stats(figures, since, now(r.clock)), nil
}

func (r *Record) size() (int64, error) {
	f, err := audit.OpenRead(r.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// indexTimeout bounds how long statistics wait for the index.
const indexTimeout = 3 * time.Second

// waitIndexed waits until the index covers size bytes. The first time may take longer than patience.
func (r *Record) waitIndexed(ctx context.Context, size int64) error {
	late := time.NewTimer(indexTimeout)
	defer late.Stop()
	for range 2 { // an update in progress may have begun earlier
		select {
		case <-r.updateIndex(size, 0):
		case <-ctx.Done():
			return cancelled("count events", ctx)
		case <-late.C:
			return &fault.Error{Kind: fault.Unavailable, Op: "count events", Why: "the record is still being read",
				Hint: "try again in a moment"}
		}
		if err := r.updateError(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) updateError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.updateErr
}

// cancelled is the error of a cancelled request.
func cancelled(op string, ctx context.Context) error {
	return &fault.Error{Kind: fault.Timeout, Op: op, Why: "nobody waits for it any more", Err: context.Cause(ctx)}
}

// stats converts statistics.
func stats(s sqlite.Stats, since, now time.Time) Stats {
	out := Stats{Requests: s.Total.Requests, Failed: s.Total.Failed, Denied: s.Total.Denied, P50: s.Total.P50,
		P95: s.Total.P95}
	for _, c := range s.Commands[:min(len(s.Commands), maxListed)] {
		out.Commands = append(out.Commands, Counted{Name: c.Name, Count: c.Count, Failed: c.Failed})
	}
	for _, d := range s.DeniedCommands[:min(len(s.DeniedCommands), maxListed)] {
		out.Denials = append(out.Denials, Counted{Name: d.Name, Count: d.Count})
	}
	for _, a := range s.Actors[:min(len(s.Actors), maxListed)] {
		out.Actors = append(out.Actors, Counted{Name: a.Name, Count: a.Requests, Failed: a.Failed})
	}
	out.Days = everyDay(s.Days, since, now)
	return out
}

// everyDay lists all days since since, oldest first, including those without requests.
func everyDay(known []sqlite.Group, since, now time.Time) []Counted {
	byName := make(map[string]sqlite.Group, len(known))
	first := since.UTC()
	for _, d := range known { // latest first
		byName[d.Name] = d
		if at, err := time.Parse(time.DateOnly, d.Name); err == nil && since.IsZero() {
			first = at
		}
	}
	if first.IsZero() {
		return nil
	}
	var out []Counted
	for at := now.UTC(); len(out) < maxDays && at.Format(time.DateOnly) >= first.Format(time.DateOnly); at = at.AddDate(0,
		0, -1) {
		d := byName[at.Format(time.DateOnly)]
		out = append(out, Counted{Name: at.Format(time.DateOnly), Count: d.Requests, Failed: d.Failed})
	}
	slices.Reverse(out)
	return out
}

// Verify implements [hako/internal/web/api.Record]. One verification runs at a time. A missing record is not whole:
// the server itself would have written to it.
func (r *Record) Verify(ctx context.Context) (Chain, error) {
	select {
	case r.verifying <- struct{}{}:
	case <-ctx.Done():
		return Chain{}, cancelled("verify audit log", ctx)
	}
	defer func() { <-r.verifying }()
	report, err := r.verifier.Verify(ctx)
	switch {
	case ctx.Err() != nil:
		return Chain{}, cancelled("verify audit log", ctx)
	case fault.KindOf(err) == fault.NotFound:
		return Chain{Why: "there is no record"}, nil
	case err != nil:
		return Chain{}, err
	}
	chain := Chain{Whole: report.OK(), Events: report.Events}
	if !chain.Whole {
		chain.Why = report.String()
	}
	return chain, nil
}
