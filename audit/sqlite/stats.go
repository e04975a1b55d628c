package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Scope selects the events of statistics. Zero fields select all.
type Scope struct {
	Actor        string
	Since, Until time.Time // not before, and before
	Top          int       // so many of each list; zero means ten
}

// Stats are the statistics of a log.
type Stats struct {
	Total          Group     `json:"total"`
	Commands       []Command `json:"commands"`        // the most used first
	Denials        []Denial  `json:"denials"`         // by rule, the most frequent first
	DeniedCommands []Count   `json:"denied_commands"` // by name, the most frequent first
	Errors         []Count   `json:"errors"`          // by kind
	Actors         []Group   `json:"actors"`          // the busiest first
	Days           []Group   `json:"days"`            // the newest first
}

// A Count is how often something happened.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// A Denial is how often a rule, or without one a reason, denied a command.
type Denial struct {
	Name   string `json:"name"`
	Count  int64  `json:"count"`
	Reason string `json:"reason,omitempty"` // the last one that was given, if Name is a rule
}

// A Command has the statistics of one command. The record has the duration and outcome of whole requests, so that
// failures and durations are those of the requests in which the command ran.
type Command struct {
	Name     string  `json:"name"`
	Count    int64   `json:"count"` // how often it ran
	Requests int64   `json:"requests"`
	Failed   int64   `json:"failed"`
	Rate     float64 `json:"error_rate"`
	Denied   int64   `json:"denied"` // how often it was not allowed to run
	P50      int64   `json:"p50_us"`
	P95      int64   `json:"p95_us"`
}

// A Group has the statistics of the requests of an actor or a day.
type Group struct {
	Name     string  `json:"name,omitempty"`
	Requests int64   `json:"requests"`
	Failed   int64   `json:"failed"` // ended with an error or a status that is not zero
	Rate     float64 `json:"error_rate"`
	Denied   int64   `json:"denied"` // commands, by policy or by a person
	P50      int64   `json:"p50_us"`
	P95      int64   `json:"p95_us"`
	Bytes    int64   `json:"bytes"`
	Tokens   int64   `json:"tokens"`
	Cost     float64 `json:"cost"`

	times []int64
}

const defaultTop = 10

// inScope is the condition of every query.
const inScope = ` (? = '' or actor = ?) and time >= ? and time < ? and seq >= ? and seq < ? `

// A span is a scope and the sequence numbers between which its events lie.
type span struct {
	Scope
	from, before int64
}

func (s span) args() []any {
	from, to := int64(0), int64(1<<62)
	if !s.Since.IsZero() {
		from = s.Since.UnixMicro()
	}
	if !s.Until.IsZero() {
		to = s.Until.UnixMicro()
	}
	return []any{s.Actor, s.Actor, from, to, s.from, s.before}
}

// wasDenied selects the events about a command that was not allowed.
const wasDenied = ` what in ('denied','refused') and command <> '' and`

// Stats returns the statistics of what the last [Index.Update] indexed.
func (x *Index) Stats(ctx context.Context, scope Scope) (Stats, error) {
	var out Stats
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return out, x.wrapError(err)
	}
	defer tx.Rollback() // there is nothing to keep
	return out, x.wrapError(exactStats(ctx, tx, scope, &out))
}

func exactStats(ctx context.Context, tx *sql.Tx, scope Scope, out *Stats) error {
	if scope.Top <= 0 {
		scope.Top = defaultTop
	}
	s, err := newSpan(tx, scope)
	for _, part := range []func(context.Context, *sql.Tx, span, *Stats) error{denials, failures, commands, groups} {
		if err == nil {
			err = part(ctx, tx, s, out)
		}
	}
	return err
}

// newSpan finds the events of a scope.
func newSpan(tx *sql.Tx, scope Scope) (s span, err error) {
	s.Scope = scope
	var back int64
	if err = tx.QueryRow(`select coalesce(max(back), 0) from place`).Scan(&back); err == nil {
		s.from, s.before, err = bounds(tx, back, scope.Since, scope.Until)
	}
	return s, err
}

// denials counts denials by rule. In a group SQLite takes the other columns from the row with the maximum.
func denials(ctx context.Context, tx *sql.Tx, s span, out *Stats) error {
	out.Denials = []Denial{}
	return queryRows(ctx, tx, func(scan func(...any) error) error {
		var d Denial
		var last int64
		err := scan(&d.Name, &d.Count, &d.Reason, &last)
		out.Denials = append(out.Denials, d)
		return err
	}, `select case rule when '' then reason else rule end as name, sum(count), case rule when '' then '' else reason end, max(seq)
		from event where what in ('denied','refused') and`+inScope+`group by name order by 2 desc, 1 limit ?`, append(s.args(), s.Top)...)
}

func failures(ctx context.Context, tx *sql.Tx, s span, out *Stats) (err error) {
	out.Errors, err = counts(ctx, tx, s, `select kind, count(*) from event where what = 'ended' and kind <> '' and`+inScope+
		`group by kind`)
	return err
}

// commands sums up the runs and denials of each command.
func commands(ctx context.Context, tx *sql.Tx, s span, out *Stats) error {
	used, err := commandUses(ctx, tx, s)
	if err != nil {
		return err
	}
	all := s
	all.Top = -1 // without a limit: a command that is denied now and then may run often
	denied, err := counts(ctx, tx, all, `select command, sum(count) from event where`+wasDenied+inScope+`group by command`)
	if err != nil {
		return err
	}
	out.DeniedCommands = denied[:min(s.Top, len(denied))]
	for _, d := range denied {
		if u := used[d.Name]; u != nil {
			u.Denied = d.Count
		}
	}
	out.Commands = mostUsed(used, s.Top)
	return nil
}

// A commandUse is the group of requests in which a command ran.
type commandUse struct {
	Group
	count int64
}

// commandUses sums up the requests of each command.
func commandUses(ctx context.Context, tx *sql.Tx, s span) (map[string]*commandUse, error) {
	all := make(map[string]*commandUse)
	err := queryRows(ctx, tx, func(scan func(...any) error) error {
		var name string
		var count, failed, micros int64
		if err := scan(&name, &count, &failed, &micros); err != nil {
			return err
		}
		if all[name] == nil {
			all[name] = &commandUse{Group: Group{Name: name}}
		}
		all[name].count += count
		all[name].ended(failed, micros)
		return nil
	}, `select name, count, failed, micros from command where`+inScope, s.args()...)
	return all, err
}

func mostUsed(all map[string]*commandUse, n int) []Command {
	list := slices.SortedFunc(maps.Values(all), func(a, b *commandUse) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.Name, b.Name))
	})
	out := []Command{}
	for _, u := range list[:min(n, len(list))] {
		u.finish()
		out = append(out, Command{u.Name, u.count, u.Requests, u.Failed, u.Rate, u.Denied, u.P50, u.P95})
	}
	return out
}

func counts(ctx context.Context, tx *sql.Tx, s span, query string) ([]Count, error) {
	list := []Count{}
	err := queryRows(ctx, tx, func(scan func(...any) error) error {
		var c Count
		err := scan(&c.Name, &c.Count)
		list = append(list, c)
		return err
	}, query+` order by 2 desc, 1 limit ?`, append(s.args(), s.Top)...)
	return list, err
}

// groups sums up the events of each actor and day in one pass.
func groups(ctx context.Context, tx *sql.Tx, s span, out *Stats) error {
	actors, days := make(map[string]*Group), make(map[string]*Group)
	err := queryRows(ctx, tx, func(scan func(...any) error) error {
		var actor, what string
		var at, failed, micros, bytes, tokens, count int64
		var cost float64
		if err := scan(&actor, &at, &what, &failed, &micros, &bytes, &tokens, &cost, &count); err != nil {
			return err
		}
		for _, g := range []*Group{&out.Total, groupOf(actors, actor), groupOf(days, day(at))} {
			g.Bytes, g.Tokens, g.Cost = g.Bytes+bytes, g.Tokens+tokens, g.Cost+cost
			switch what {
			case "ended":
				g.ended(failed, micros)
			case "denied", "refused":
				g.Denied += count
			}
		}
		return nil
	}, `select actor, time, what, failed, micros, bytes, tokens, cost, count from event
		where what in ('ended','denied','refused','model') and`+inScope, s.args()...)
	out.Total.finish()
	out.Actors, out.Days = busiest(actors, s.Top), newest(days, s.Top)
	return err
}

// day returns the calendar day of a time in microseconds.
func day(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.DateOnly) }

func groupOf(m map[string]*Group, name string) *Group {
	if m[name] == nil {
		m[name] = &Group{Name: name}
	}
	return m[name]
}

// ended counts a request that has ended.
func (g *Group) ended(failed, micros int64) {
	g.Requests++
	g.Failed += failed
	g.times = append(g.times, micros)
}

func (g *Group) finish() {
	slices.Sort(g.times)
	g.P50, g.P95 = percentile(g.times, 50), percentile(g.times, 95)
	if g.Requests > 0 {
		g.Rate = float64(g.Failed) / float64(g.Requests)
	}
	g.times = nil
}

// percentile returns the smallest value that p percent do not exceed.
func percentile(sorted []int64, p int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

func busiest(m map[string]*Group, n int) []Group {
	return top(m, n, func(a, b Group) int { return cmp.Compare(b.Requests, a.Requests) })
}

func newest(m map[string]*Group, n int) []Group { return top(m, n, func(a, b Group) int { return 0 }) }

// top returns the first n groups by order, then by name backwards.
func top(m map[string]*Group, n int, order func(a, b Group) int) []Group {
	list := []Group{}
	for _, g := range m {
		g.finish()
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int { return cmp.Or(order(a, b), strings.Compare(b.Name, a.Name)) })
	return list[:min(n, len(list))]
}
