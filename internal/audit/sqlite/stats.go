package sqlite

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Scope says what statistics are about. Zero fields ask nothing.
type Scope struct {
	Actor        string
	Since, Until time.Time // not before, and before
	Top          int       // so many of each list; zero means ten
}

// Stats is what an index can tell about a log.
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

// A Denial is how often a rule, or where there was none a reason, decided
// against a command.
type Denial struct {
	Name   string `json:"name"`
	Count  int64  `json:"count"`
	Reason string `json:"reason,omitempty"` // the last one that was given, if Name is a rule
}

// A Command sums up what became of a command. The record times whole requests
// and says how they ended, so that failures and durations are those of the
// requests in which the command ran.
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

// A Group sums up the requests of an actor or a day.
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

const usualTop = 10

// inScope is the condition that every question has in common.
const inScope = ` (? = '' or actor = ?) and time >= ? and time < ? `

func (s Scope) args() []any {
	from, to := int64(0), int64(1<<62)
	if !s.Since.IsZero() {
		from = s.Since.UnixMicro()
	}
	if !s.Until.IsZero() {
		to = s.Until.UnixMicro()
	}
	return []any{s.Actor, s.Actor, from, to}
}

// wasDenied is true of events that tell of a command that was not allowed.
const wasDenied = ` what in ('denied','refused') and command <> '' and`

// Stats answers from what the last [Index.Update] took in.
func (x *Index) Stats(s Scope) (Stats, error) {
	if s.Top <= 0 {
		s.Top = usualTop
	}
	var out Stats
	for _, part := range []func(Scope, *Stats) error{x.denials, x.errors, x.commands, x.groups} {
		if err := part(s, &out); err != nil {
			return out, x.broken(err)
		}
	}
	return out, nil
}

// denials counts what was denied by which rule. Of the rows of a group SQLite
// takes the other columns from the one that has the maximum.
func (x *Index) denials(s Scope, out *Stats) error {
	rows, err := x.db.Query(`select case rule when '' then reason else rule end as name, count(*), case rule when '' then '' else reason end, max(seq)
		from event where what in ('denied','refused') and`+inScope+`group by name order by 2 desc, 1 limit ?`, append(s.args(), s.Top)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	out.Denials = []Denial{}
	for rows.Next() {
		var d Denial
		var last int64
		if err := rows.Scan(&d.Name, &d.Count, &d.Reason, &last); err != nil {
			return err
		}
		out.Denials = append(out.Denials, d)
	}
	return rows.Err()
}

func (x *Index) errors(s Scope, out *Stats) (err error) {
	out.Errors, err = x.counts(s, `select kind, count(*) from event where what = 'ended' and kind <> '' and`+inScope+`group by kind`)
	return err
}

// commands adds up what became of each command that ran, and counts those that
// were denied.
func (x *Index) commands(s Scope, out *Stats) error {
	ran, err := x.ran(s)
	if err != nil {
		return err
	}
	all := s
	all.Top = -1 // without a limit: a command that is denied now and then may run often
	denied, err := x.counts(all, `select command, count(*) from event where`+wasDenied+inScope+`group by command`)
	if err != nil {
		return err
	}
	out.DeniedCommands = denied[:min(s.Top, len(denied))]
	for _, d := range denied {
		if u := ran[d.Name]; u != nil {
			u.Denied = d.Count
		}
	}
	out.Commands = mostUsed(ran, s.Top)
	return nil
}

// A use is a group of the requests in which a command ran.
type use struct {
	Group
	count int64
}

// ran adds up the requests of each command.
func (x *Index) ran(s Scope) (map[string]*use, error) {
	rows, err := x.db.Query(`select name, count, failed, micros
		from (select seq, name, count from command where`+inScope+`) join event using (seq)`, s.args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]*use)
	for rows.Next() {
		var name string
		var count, failed, micros int64
		if err := rows.Scan(&name, &count, &failed, &micros); err != nil {
			return nil, err
		}
		if all[name] == nil {
			all[name] = &use{Group: Group{Name: name}}
		}
		u := all[name]
		u.count += count
		u.ended(failed, micros)
	}
	return all, rows.Err()
}

func mostUsed(all map[string]*use, n int) []Command {
	list := slices.SortedFunc(maps.Values(all), func(a, b *use) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.Name, b.Name))
	})
	out := []Command{}
	for _, u := range list[:min(n, len(list))] {
		u.finish()
		out = append(out, Command{u.Name, u.count, u.Requests, u.Failed, u.Rate, u.Denied, u.P50, u.P95})
	}
	return out
}

func (x *Index) counts(s Scope, query string) ([]Count, error) {
	rows, err := x.db.Query(query+` order by 2 desc, 1 limit ?`, append(s.args(), s.Top)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Count{}
	for rows.Next() {
		var c Count
		if err := rows.Scan(&c.Name, &c.Count); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// groups adds up the events of each actor and day in one pass.
func (x *Index) groups(s Scope, out *Stats) error {
	rows, err := x.db.Query(`select actor, day, what, failed, micros, bytes, tokens, cost from event
		where what in ('ended','denied','refused','model') and`+inScope, s.args()...)
	if err != nil {
		return err
	}
	defer rows.Close()
	actors, days := make(map[string]*Group), make(map[string]*Group)
	for rows.Next() {
		if err := addRow(rows, &out.Total, actors, days); err != nil {
			return err
		}
	}
	out.Total.finish()
	out.Actors = top(actors, s.Top, func(a, b Group) int { return int(b.Requests - a.Requests) })
	out.Days = top(days, s.Top, func(a, b Group) int { return 0 })
	return rows.Err()
}

func addRow(rows *sql.Rows, total *Group, actors, days map[string]*Group) error {
	var actor, day, what string
	var failed, micros, bytes, tokens int64
	var cost float64
	if err := rows.Scan(&actor, &day, &what, &failed, &micros, &bytes, &tokens, &cost); err != nil {
		return err
	}
	for _, g := range []*Group{total, member(actors, actor), member(days, day)} {
		g.Bytes, g.Tokens, g.Cost = g.Bytes+bytes, g.Tokens+tokens, g.Cost+cost
		switch what {
		case "ended":
			g.ended(failed, micros)
		case "denied", "refused":
			g.Denied++
		}
	}
	return nil
}

func member(m map[string]*Group, name string) *Group {
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

// top returns the first n groups by order, and by name backwards where that
// does not tell: the newest of days.
func top(m map[string]*Group, n int, order func(a, b Group) int) []Group {
	list := []Group{}
	for _, g := range m {
		g.finish()
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int {
		if c := order(a, b); c != 0 {
			return c
		}
		if a.Name > b.Name {
			return -1
		}
		return 1
	})
	return list[:min(n, len(list))]
}
