package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"hako/internal/agent"
	"hako/internal/audit"
	"hako/internal/config"
	"hako/internal/fault"
	"hako/internal/llm"
	"hako/internal/quota"
)

// TestRation: the model is not asked once the total is used up, nor while it
// cannot be known whether it is.
func TestRation(t *testing.T) {
	w, lock, messages := rationStudio(t, "1000")
	costly := &costlyModel{}
	e := &errand{bill: &agent.Ledger{Model: costly, Meter: quota.NewMeter(quota.Unlimited()), Log: forgetful{}}}
	m := rationed{e.bill, w, e}
	if err := os.MkdirAll(lock, 0o700); err != nil { // nothing can be booked
		t.Fatal(err)
	}
	ask := func(want fault.Kind, asked int) {
		t.Helper()
		if _, err := m.Next(t.Context(), &llm.Dialog{}); err == nil && want != fault.Other || err != nil && fault.KindOf(err) != want || costly.asked != asked {
			t.Errorf("%v, asked %d times, want %v, %d", err, costly.asked, want, asked)
		}
	}
	ask(fault.Other, 1)
	if !strings.Contains(messages.String(), "usage.json") {
		t.Errorf("nobody was told: %q", messages)
	}
	if _, err := m.Next(t.Context(), &llm.Dialog{}); err == nil || costly.asked != 1 {
		t.Errorf("what was used is not booked, and it was asked again: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	ask(fault.Other, 2)
	ask(fault.Exhausted, 2)
	if spent, err := w.usage().Spent(nil); spent != 1200 || err != nil {
		t.Errorf("%d tokens are booked, %v", spent, err)
	}
}

func rationStudio(t *testing.T, total string) (w *studio, lock string, messages *strings.Builder) {
	t.Helper()
	set := map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir(), "HAKO_QUOTA_TOTAL_TOKENS": total}
	conf, err := config.Load(config.Source{NoFile: true, Getenv: func(name string) (string, bool) { v, ok := set[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	messages = new(strings.Builder)
	w = &studio{ledgers: &ledgers{opened: new(opened), conf: conf}}
	w.view = &view{studio: w, s: streams{err: messages}}
	return w, conf.StateFile("usage.json") + ".lock", messages
}

// A costlyModel uses 600 tokens for every answer.
type costlyModel struct{ asked int }

func (m *costlyModel) Next(context.Context, *llm.Dialog) (*llm.Turn, error) {
	m.asked++
	return &llm.Turn{Text: "yes", Usage: quota.Usage{Input: 600}}, nil
}

type forgetful struct{ audit.Log }

func (forgetful) Append(audit.Event) error { return nil }
