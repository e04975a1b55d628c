package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/internal/app"
	"hako/quota"
)

// A bill is what --stats prints.
type bill struct {
	Seconds float64          `json:"seconds"`
	Models  []modelBill      `json:"models"`
	Left    quota.Left       `json:"left"`
	Calls   map[string]int64 `json:"tool_calls"`
	Errors  int64            `json:"tool_errors"`
	Read    int64            `json:"bytes_read"`    // by the model
	Written int64            `json:"bytes_written"` // by the model
}

type modelBill struct {
	Model    string   `json:"model"`
	Calls    int      `json:"calls"`
	Retries  int      `json:"retries"`
	Input    int64    `json:"input_tokens"`
	Cached   int64    `json:"cached_tokens"`
	Output   int64    `json:"output_tokens"`
	Weighted int64    `json:"weighted_tokens"`
	Cost     *float64 `json:"cost_usd"` // null means that no price is known
}

// tell prints what was used, and leaves it in a file for those who collect it.
func (c *clerk) tell(how string) {
	st := c.desk.Stats()
	r := bill{Seconds: time.Since(c.began).Seconds(), Left: c.meter.Left(), Calls: st.Calls, Errors: st.Errors, Read: st.Read, Written: st.Written}
	for _, m := range c.ledger {
		r.Models = append(r.Models, billOf(m, c.meter))
	}
	r.Models = append(r.Models, c.bills...)
	if c.metrics != "" {
		if err := writeMetrics(c.metrics, r); err != nil {
			c.show.note(err.Error())
		}
	}
	switch how {
	case "json":
		b, _ := json.Marshal(r)
		fmt.Fprintln(c.show.notes, string(b))
		return
	case "":
		return
	}
	for _, line := range c.lines(r) {
		c.show.note(line)
	}
}

// lines are the bill for people: all that is in the one for programs.
func (c *clerk) lines(r bill) []string {
	list := []string{fmt.Sprintf("%.1f s; %d tool calls, %d of them failed; the model read %d bytes and wrote %d", r.Seconds, total(r.Calls), r.Errors, r.Read, r.Written)}
	if len(r.Calls) > 0 {
		list = append(list, "tools: "+each(r.Calls))
	}
	for i, m := range r.Models {
		if i < len(c.ledger) {
			list = append(list, c.ledger[i].Stats())
		} else {
			list = append(list, m.nestedLine())
		}
		list = append(list, m.weightedLine(c.weightsOf(m.Model)))
	}
	return append(list, leftLine(r.Left))
}

// each lists how often every tool was called, the most used first.
func each(calls map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, calls[name])
	}
	return strings.Join(names, ", ")
}

// nestedLine is for a model that a script asked, as [mind.stats] is for the others.
func (b modelBill) nestedLine() string {
	cost := "unpriced (set model.prices)"
	switch {
	case b.Cost != nil && *b.Cost == 0:
		cost = "free"
	case b.Cost != nil:
		cost = fmt.Sprintf("$%.6f", *b.Cost)
	}
	return fmt.Sprintf("%s, asked by a script: calls %d, %d tokens in (%d cached), %d out, %s", b.Model, b.Calls, b.Input+b.Cached, b.Cached, b.Output, cost)
}

// weightedLine shows how the weighted tokens come about.
func (b modelBill) weightedLine(w quota.Weights) string {
	return fmt.Sprintf("%s: retries %d, weighted tokens %d (input %d × %s, cached %d × %s, output %d × %s)",
		b.Model, b.Retries, b.Weighted, b.Input, quarters(w.Input), b.Cached, quarters(w.Cached), b.Output, quarters(w.Output))
}

func quarters(n int64) string { return strconv.FormatFloat(float64(n)/4, 'f', -1, 64) }

func (c *clerk) weightsOf(model string) quota.Weights {
	all := app.Weights(c.conf)
	if own, ok := all[model]; ok {
		return own
	}
	return all[""]
}

// leftLine says what is left of the budget. The bytes get units that both numbers
// of a pair can be read in.
func leftLine(l quota.Left) string {
	parts := strings.Split(l.String(), ", ")
	for i, part := range parts {
		for _, name := range []string{"read", "written"} {
			if whole, ok := strings.CutSuffix(part, " bytes "+name+" left"); ok {
				_, of, _ := strings.Cut(whole, " of ")
				parts[i] = fmt.Sprintf("%s of %s to be %s left", roundedDown(l.Of(name)), of, name)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// roundedDown writes a number of bytes with its unit and one decimal at most.
func roundedDown(n int64) string {
	size, unit := float64(n), "B"
	for _, larger := range []string{"KB", "MB", "GB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, larger
	}
	return strconv.FormatFloat(math.Floor(size*10)/10, 'f', -1, 64) + unit
}

// writeMetrics replaces the file, so that a scraper never reads half of it.
func writeMetrics(name string, r bill) error {
	f, err := app.NewOutFile(name, 0o666)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := encode(f, r); err != nil {
		return err
	}
	return f.Commit()
}

func total(calls map[string]int64) (n int64) {
	for _, v := range calls {
		n += v
	}
	return n
}

// addBill takes in what a nested llmcmd used.
func (c *clerk) addBill(b modelBill) {
	c.funding.Lock()
	defer c.funding.Unlock()
	c.bills = append(c.bills, b)
}

func billOf(m *app.MeteredModel, meter *quota.Budget) modelBill {
	t := m.Ledger.Total()
	r := modelBill{Model: m.Name, Calls: t.Tries, Retries: t.Failed, Input: t.Input, Cached: t.Cached, Output: t.Output, Weighted: meter.Weigh(m.Name, t.Usage)}
	r.Cost = m.Cost()
	return r
}
