package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"hako/internal/quota"
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
		r.Models = append(r.Models, m.bill(c.meter))
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
	c.show.note(fmt.Sprintf("%.1f s; %d tool calls, %d of them failed; the model read %d bytes and wrote %d", r.Seconds, total(st.Calls), r.Errors, r.Read, r.Written))
	for _, m := range c.ledger {
		c.show.note(m.stats())
	}
	c.show.note(r.Left.String())
}

// writeMetrics replaces the file, so that a scraper never reads half of it.
func writeMetrics(name string, r bill) error {
	f, err := newOutFile(name, 0o666)
	if err != nil {
		return err
	}
	defer f.discard()
	if err := encode(f, r); err != nil {
		return err
	}
	return f.keep()
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

func (m *mind) bill(meter *quota.Meter) modelBill {
	t := m.ledger.Total()
	r := modelBill{Model: m.name, Calls: t.Tries, Retries: t.Failed, Input: t.Input, Cached: t.Cached, Output: t.Output, Weighted: meter.Weigh(m.name, t.Usage)}
	r.Cost = m.cost()
	return r
}
