package sqlite

import (
	"database/sql"
	"slices"
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
	Total    Group   `json:"total"`
	Commands []Count `json:"commands"` // the most used first
	Denials  []Count `json:"denials"`  // by rule, the most frequent first
	Errors   []Count `json:"errors"`   // by kind
	Actors   []Group `json:"actors"`   // the busiest first
	Days     []Group `json:"days"`     // the newest first
}

// A Count is how often something happened.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
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

// Stats answers from what the last [Index.Update] took in.
func (x *Index) Stats(s Scope) (Stats, error) {
	if s.Top <= 0 {
		s.Top = usualTop
	}
	var out Stats
	var err error
	for _, q := range []struct {
		into  *[]Count
		query string
	}{
		{&out.Commands, `select name, sum(count) from command where` + inScope + `group by name`},
		{&out.Denials, `select case rule when '' then reason else rule end as name, count(*) from event where what in ('denied','refused') and` + inScope + `group by name`},
		{&out.Errors, `select kind, count(*) from event where what = 'ended' and kind <> '' and` + inScope + `group by kind`},
	} {
		if *q.into, err = x.counts(s, q.query); err != nil {
			return out, x.broken(err)
		}
	}
	if err := x.groups(s, &out); err != nil {
		return out, x.broken(err)
	}
	return out, nil
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
			g.Requests++
			g.Failed += failed
			g.times = append(g.times, micros)
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
