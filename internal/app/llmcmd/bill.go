package llmcmd

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

// A Bill is the usage of a session.
type Bill struct {
	Seconds float64          `json:"seconds"`
	Models  []ModelBill      `json:"models"`
	Left    quota.Left       `json:"left"`
	Calls   map[string]int64 `json:"tool_calls"`
	Errors  int64            `json:"tool_errors"`
	Read    int64            `json:"bytes_read"`    // by the model
	Written int64            `json:"bytes_written"` // by the model
}

// A ModelBill is the usage of one model.
type ModelBill struct {
	Model    string   `json:"model"`
	Calls    int      `json:"calls"`
	Retries  int      `json:"retries"`
	Input    int64    `json:"input_tokens"`
	Cached   int64    `json:"cached_tokens"`
	Output   int64    `json:"output_tokens"`
	Weighted int64    `json:"weighted_tokens"`
	Cost     *float64 `json:"cost_usd"` // null means unknown

	stats   string        // for people; empty means that a script called the model
	weights quota.Weights // of its tokens
}

// Bill returns the usage so far.
func (c *Session) Bill() Bill {
	st := c.table.Stats()
	r := Bill{Seconds: time.Since(c.began).Seconds(), Left: c.meter.Left(), Calls: st.Calls, Errors: st.Errors,
		Read: st.Read, Written: st.Written}
	for _, m := range c.models {
		own := c.billOf(m)
		own.stats = m.Stats()
		r.Models = append(r.Models, own)
	}
	r.Models = append(r.Models, c.bills...)
	return r
}

// Lines formats the bill for people.
func (r Bill) Lines() []string {
	list := []string{fmt.Sprintf("%.1f s; %d tool calls, %d of them failed; the model read %d bytes and wrote %d",
		r.Seconds, total(r.Calls), r.Errors, r.Read, r.Written)}
	if len(r.Calls) > 0 {
		list = append(list, "tools: "+each(r.Calls))
	}
	for _, m := range r.Models {
		list = append(list, cmp.Or(m.stats, m.nestedLine()), m.weightedLine())
	}
	return append(list, leftLine(r.Left))
}

// each lists the calls of every tool, most used first.
func each(calls map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, calls[name])
	}
	return strings.Join(names, ", ")
}

// nestedLine is [app.MeteredModel.Stats] for a model that a script called.
func (b ModelBill) nestedLine() string {
	cost := "unpriced (set model.prices)"
	switch {
	case b.Cost != nil && *b.Cost == 0:
		cost = "free"
	case b.Cost != nil:
		cost = fmt.Sprintf("$%.6f", *b.Cost)
	}
	return fmt.Sprintf("%s, asked by a script: calls %d, %d tokens in (%d cached), %d out, %s", b.Model, b.Calls,
		b.Input+b.Cached, b.Cached, b.Output, cost)
}

// weightedLine shows how the weighted tokens are calculated.
func (b ModelBill) weightedLine() string {
	w := b.weights
	return fmt.Sprintf("%s: retries %d, weighted tokens %d (input %d × %s, cached %d × %s, output %d × %s)",
		b.Model, b.Retries, b.Weighted, b.Input, quarters(w.Input), b.Cached, quarters(w.Cached), b.Output,
		quarters(w.Output))
}

func quarters(n int64) string { return strconv.FormatFloat(float64(n)/4, 'f', -1, 64) }

func (c *Session) weightsOf(model string) quota.Weights {
	all := app.Weights(c.conf)
	if own, ok := all[model]; ok {
		return own
	}
	return all[""]
}

// leftLine formats the remaining budget, with units for bytes.
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

// roundedDown formats a number of bytes with its unit and at most one decimal.
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

// WriteMetrics writes a bill to the configured file, atomically.
func (c *Session) WriteMetrics(r Bill) error {
	if c.Metrics == "" {
		return nil
	}
	f, err := app.NewOutFile(c.Metrics, 0o666)
	if err != nil {
		return err
	}
	defer f.Discard()
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
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

// addBill adds the usage of a nested session.
func (c *Session) addBill(b ModelBill) {
	c.funding.Lock()
	defer c.funding.Unlock()
	c.bills = append(c.bills, b)
}

func (c *Session) billOf(m *app.MeteredModel) ModelBill {
	t := m.Ledger.Total()
	return ModelBill{
		Model: m.Name, Calls: t.Tries, Retries: t.Failed, Input: t.Input, Cached: t.Cached, Output: t.Output,
		Weighted: c.meter.Weigh(m.Name, t.Usage), Cost: m.Cost(), weights: c.weightsOf(m.Name),
	}
}
