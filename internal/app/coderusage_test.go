package app

import (
	"context"
	"os"
	"testing"

	"hako/agent"
	"hako/audit"
	"hako/internal/config"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// TestTotalOfTasks: the model of a task is not asked for what would pass the total, nor
// while nothing can be reserved.
func TestTotalOfTasks(t *testing.T) {
	w, lock := coderWithTotal(t, "1000")
	costly := &costlyModel{}
	m := &agent.ChargedModel{Model: costly, Budget: quota.New(quota.Unlimited()), Log: forgetful{},
		Cap: totalBudget(w.Conf)}
	ask := func(want fault.Kind, asked int) {
		t.Helper()
		if _, err := m.Next(t.Context(), &llm.Dialog{MaxOutput: 64}); err == nil && want != fault.Other || err != nil &&
			fault.KindOf(err) != want || costly.asked != asked {
			t.Errorf("%v, asked %d times, want %v, %d", err, costly.asked, want, asked)
		}
	}
	if err := os.MkdirAll(lock, 0o700); err != nil { // nothing can be reserved
		t.Fatal(err)
	}
	if _, err := m.Next(t.Context(), &llm.Dialog{}); err == nil || costly.asked != 0 {
		t.Errorf("nothing can be reserved, and it was asked: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	ask(fault.Other, 1)
	ask(fault.Other, 2)
	ask(fault.Exhausted, 2)
	w.settleUsage(&taskResources{bill: m}) // nothing is booked twice
	if spent, err := UsageState(w.Conf).Spent(nil); spent != 1000 || err != nil {
		t.Errorf("%d tokens are booked, %v", spent, err)
	}
}

func coderWithTotal(t *testing.T, total string) (w *Coder, lock string) {
	t.Helper()
	set := map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir(), "HAKO_QUOTA_TOTAL_TOKENS": total}
	conf, err := config.Load(
		config.Source{NoFile: true, Getenv: func(name string) (string, bool) { v, ok := set[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	w = &Coder{TaskQueue: &TaskQueue{App: new(App), Conf: conf},
		o: CoderOptions{Trouble: func(err error) { t.Error(err) }}}
	return w, conf.StateFile("usage.json") + ".lock"
}

// A costlyModel uses 500 tokens for every answer.
type costlyModel struct{ asked int }

func (m *costlyModel) Next(context.Context, *llm.Dialog) (*llm.Turn, error) {
	m.asked++
	return &llm.Turn{Text: "yes", Usage: quota.Usage{Input: 500}}, nil
}

type forgetful struct{ audit.Log }

func (forgetful) Append(audit.Event) error { return nil }
