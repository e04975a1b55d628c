package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/audit"
)

// hourlyCounts counts events by hour, so that the statistics of a month need not read every event.
type hourlyCounts map[hourlyKey]hourlyCount

// An hourlyKey is what is counted.
type hourlyKey struct {
	hour       int64 // since 1970
	kind, name string
}

// The kinds of counts.
const (
	byActor   = "actor"   // requests that ended
	byCommand = "command" // runs of a command
	byDenial  = "denial"  // of a command
	byTime    = "time"    // requests of about the same duration
)

type hourlyCount struct{ count, failed int64 }

// add counts an event, with the command that it denied.
func (t hourlyCounts) add(e *audit.Event, denied string, failed bool) {
	hour := e.Time.Unix() / 3600
	put := func(kind, name string, n int64) {
		key := hourlyKey{hour, kind, name}
		c := t[key]
		c.count += n
		if failed {
			c.failed++
		}
		t[key] = c
	}
	switch e.What {
	case audit.Denied, audit.Refused:
		put(byDenial, denied, e.Times())
	case audit.Ended:
		put(byActor, e.Actor, 1)
		put(byTime, strconv.Itoa(durationStep(e.Micros)), 1)
		for name, n := range e.Commands {
			put(byCommand, name, int64(n))
		}
	}
}

// save adds it to what was counted before.
func (t hourlyCounts) save(tx *sql.Tx) error {
	put, err := tx.Prepare(`insert into tally values (?, ?, ?, ?, ?)
		on conflict do update set count = count + excluded.count, failed = failed + excluded.failed`)
	if err != nil {
		return err
	}
	defer put.Close()
	for key, c := range t {
		if _, err := put.Exec(key.hour, key.kind, key.name, c.count, c.failed); err != nil {
			return err
		}
	}
	return nil
}

// stepsOf is the number of steps between a duration and its double.
const stepsOf = 8

// durationStep returns the step of a duration on a logarithmic scale of nine percent a step.
func durationStep(micros int64) int {
	return int(math.Round(stepsOf * math.Log2(float64(max(micros, 1)))))
}

// stepMicros returns the approximate duration of a step.
func stepMicros(step int) int64 { return int64(math.Round(math.Exp2(float64(step) / stepsOf))) }

// Figures is [Index.Stats] in constant time. Of very many events it counts whole hours, durations are within five
// percent, and bytes, tokens, errors by kind and denials by rule are omitted.
func (x *Index) Figures(ctx context.Context, since time.Time, top int) (Stats, error) {
	var out Stats
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return out, x.wrapError(err)
	}
	defer tx.Rollback() // there is nothing to keep
	scope := Scope{Since: since, Top: top}
	many, err := x.exceedsExact(tx, scope)
	switch {
	case err != nil:
	case many:
		err = sumHours(ctx, tx, since, top, &out)
	default:
		err = exactStats(ctx, tx, scope, &out)
	}
	return out, x.wrapError(err)
}

// exceedsExact reports whether a scope has too many events to read one by one.
func (x *Index) exceedsExact(tx *sql.Tx, scope Scope) (bool, error) {
	s, err := newSpan(tx, scope)
	if err != nil {
		return false, err
	}
	var last int64
	err = tx.QueryRow(`select coalesce(max(seq), 0) from event`).Scan(&last)
	return last-s.from > x.maxExact, err
}

// sumHours sums up the hours.
func sumHours(ctx context.Context, tx *sql.Tx, since time.Time, top int, out *Stats) error {
	from := int64(0)
	if !since.IsZero() {
		from = since.Unix() / 3600
	}
	sums := hourlySums{actors: make(map[string]*Group), days: make(map[string]*Group), out: out}
	err := queryRows(ctx, tx, func(scan func(...any) error) error {
		var at, n, failed int64
		var kind, name string
		if err := scan(&at, &kind, &name, &n, &failed); err != nil {
			return err
		}
		sums.add(day(at*24*3600*1e6), kind, name, n, failed)
		return nil
	}, `select case kind when 'actor' then hour / 24 else 0 end as day, kind, name, sum(count), sum(failed)
		from tally where hour >= ? group by day, kind, name`, from)
	sums.finish(top)
	return err
}

// hourlySums are statistics in the making.
type hourlySums struct {
	actors, days map[string]*Group
	times        []durations
	out          *Stats
}

// durations counts requests of about the same duration.
type durations struct {
	step  int
	count int64
}

func (s *hourlySums) add(day, kind, name string, n, failed int64) {
	switch kind {
	case byActor:
		for _, g := range []*Group{&s.out.Total, groupOf(s.actors, name), groupOf(s.days, day)} {
			g.Requests += n
			g.Failed += failed
		}
	case byCommand:
		s.out.Commands = append(s.out.Commands, Command{Name: name, Count: n, Failed: failed})
	case byDenial:
		s.out.Total.Denied += n
		if name != "" {
			s.out.DeniedCommands = append(s.out.DeniedCommands, Count{name, n})
		}
	case byTime:
		at, _ := strconv.Atoi(name)
		s.times = append(s.times, durations{at, n})
	}
}

func (s *hourlySums) finish(top int) {
	o := s.out
	slices.SortFunc(o.Commands, func(a, b Command) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(o.DeniedCommands, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	o.Commands = o.Commands[:min(top, len(o.Commands))]
	o.DeniedCommands = o.DeniedCommands[:min(top, len(o.DeniedCommands))]
	o.Actors = busiest(s.actors, top)
	o.Days = newest(s.days, top)
	o.Total.finish()
	slices.SortFunc(s.times, func(a, b durations) int { return cmp.Compare(a.step, b.step) })
	o.Total.P50, o.Total.P95 = s.percentile(50), s.percentile(95)
}

// percentile returns about the smallest duration that p percent do not exceed.
func (s *hourlySums) percentile(p int64) int64 {
	left := (s.out.Total.Requests*p + 99) / 100
	for _, d := range s.times {
		if left -= d.count; left <= 0 {
			return stepMicros(d.step)
		}
	}
	return 0
}
