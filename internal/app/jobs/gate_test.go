package jobs

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
)

// behindGates opens a desk whose jobs pass a real gate, each its own.
func behindGates(t *testing.T, do runner) (*List, string) {
	t.Helper()
	record := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(record, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	meter := quota.New(quota.Limits{})
	return desk(t, Options{New: func(context.Context) (run.Runner, func(), error) {
		return gate.New(do, gate.Options{Policy: policy.Virtual(), Budget: meter, Log: log}), nil, nil
	}}, nil), record
}

// What the gate refuses is a job that was denied, with the reason and what to do
// instead; and the record knows it by its handle.
func TestDeniedByTheGate(t *testing.T) {
	d, record := behindGates(t, func(context.Context, *run.Request) (run.Result, error) {
		t.Error("it ran")
		return run.Result{}, nil
	})
	h := start(t, d, "cat <(ls)")
	s, err := d.Status(h)
	if err != nil || s.State != run.JobDenied || s.Exit != 126 || !strings.Contains(s.Why, "process substitution") ||
		s.Hint == "" {
		t.Errorf("%+v: %v", s, err)
	}
	f, err := audit.OpenRead(record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := audit.Query(f, audit.Filter{ID: string(h)})
	if err != nil || len(events) != 3 || events[1].What != audit.Denied || events[2].What != audit.Ended {
		t.Errorf("%+v: %v", events, err)
	}
}
