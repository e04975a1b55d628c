package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/audit/sqlite"
	"hako/internal/text"
	"hako/run/fault"
)

func newAuditStats(s streams) *cobra.Command {
	var o auditOptions
	var top int
	cmd := command("audit stats", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if err := o.times(); err != nil {
			return err
		}
		if top < 1 {
			return &fault.Error{Kind: fault.Invalid, Op: "audit stats", Subject: fmt.Sprint(top), Why: "it is below 1",
				Hint: "write how many of each you want: --top 10"}
		}
		st, err := o.stats(cmd.Context(), sqlite.Scope{Actor: o.filter.Actor, Since: o.filter.Since, Until: o.filter.Until,
			Top: top})
		if err != nil {
			return err
		}
		if o.json {
			return encode(s.out, st)
		}
		return printStats(s.out, st)
	})
	o.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.filter.Actor, "actor", "", "only requests of `ACTOR`")
	f.StringVar(&o.since, "since", "", "not before `TIME`: 24h, 2026-01-31 or 2026-01-31T15:04:05Z")
	f.StringVar(&o.until, "until", "", "before `TIME`")
	f.IntVar(&top, "top", 10, "list the first `N`")
	return cmd
}

// stats updates the index of the record and queries it.
func (o *auditOptions) stats(ctx context.Context, scope sqlite.Scope) (sqlite.Stats, error) {
	path, err := o.path()
	if err != nil {
		return sqlite.Stats{}, err
	}
	f, err := audit.OpenRead(path) // do not create an index of a missing record
	if err != nil {
		return sqlite.Stats{}, noRecord(err, path)
	}
	f.Close()
	index, err := sqlite.Open(sqlite.PathFor(path))
	if err != nil {
		return sqlite.Stats{}, err
	}
	defer index.Close()
	if err := index.Update(ctx, path); err != nil {
		return sqlite.Stats{}, err
	}
	return index.Stats(ctx, scope)
}

func printStats(w io.Writer, st sqlite.Stats) error {
	t := st.Total
	var b strings.Builder
	fmt.Fprintf(&b, "requests %d, failed %d (%s), commands denied %d\n", t.Requests, t.Failed, percent(t.Rate), t.Denied)
	fmt.Fprintf(&b, "duration p50 %s, p95 %s; output %d bytes\n", micros(t.P50), micros(t.P95), t.Bytes)
	if t.Tokens > 0 || t.Cost > 0 {
		fmt.Fprintf(&b, "models: %d weighted tokens, $%.6f\n", t.Tokens, t.Cost)
	}
	b.WriteString(commandTable(st.Commands))
	b.WriteString(denialTable(st.Denials))
	b.WriteString(countTable("commands denied most", "command", st.DeniedCommands))
	b.WriteString(countTable("errors by kind", "kind", st.Errors))
	b.WriteString(groupTable("actors", "actor", st.Actors))
	b.WriteString(groupTable("days", "day (UTC)", st.Days))
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(rate float64) string { return fmt.Sprintf("%.1f %%", 100*rate) }

// commandTable names in its title whose failures and durations it shows: one slow command makes all others of its
// requests look slow.
func commandTable(commands []sqlite.Command) string {
	rows := [][]string{{"command", "runs", "requests", "failed", "rate", "denied", "p50", "p95"}}
	for _, c := range commands {
		rows = append(rows, statsRow(c.Name, c.Count, c.Requests, c.Failed, percent(c.Rate), c.Denied, micros(c.P50),
			micros(c.P95)))
	}
	return statsTable("most used commands (failures and durations of the requests they ran in)", rows)
}

func denialTable(denials []sqlite.Denial) string {
	rows := [][]string{{"rule", "times", reasonColumn}}
	for _, d := range denials {
		rows = append(rows, statsRow(d.Name, d.Count, d.Reason))
	}
	return statsTable("denials by rule", rows)
}

func countTable(title, column string, counts []sqlite.Count) string {
	rows := [][]string{{column, "times"}}
	for _, c := range counts {
		rows = append(rows, statsRow(c.Name, c.Count))
	}
	return statsTable(title, rows)
}

func groupTable(title, column string, groups []sqlite.Group) string {
	rows := [][]string{{column, "requests", "failed", "rate", "denied", "p50", "p95"}}
	for _, g := range groups {
		rows = append(rows, statsRow(g.Name, g.Requests, g.Failed, percent(g.Rate), g.Denied, micros(g.P50), micros(g.P95)))
	}
	return statsTable(title, rows)
}

func statsRow(cells ...any) (texts []string) {
	for _, c := range cells {
		texts = append(texts, fmt.Sprint(c))
	}
	return texts
}

// maxCell limits the width of a cell.
const maxCell = 40

// reasonColumn is the header of the column that is never cut.
const reasonColumn = "reason"

// statsTable formats rows under a title: names to the left, numbers to the right. The first row is the header; without
// others there is no table. Scripts choose some of the texts, so control characters are made visible.
func statsTable(title string, rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	head := rows[0]
	for _, cells := range rows {
		for i := range cells {
			if cells[i] = firstLine(cells[i]); head[i] != reasonColumn {
				cells[i] = text.ShortenCells(cells[i], maxCell)
			}
		}
	}
	lines := columns(rows, func(i int) bool { return i > 0 && head[i] != reasonColumn })
	return "\n" + title + "\n  " + strings.Join(lines, "\n  ") + "\n"
}
