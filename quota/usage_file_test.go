package quota

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hako/run/fault"
)

func TestState(t *testing.T) {
	s := UsageFile{filepath.Join(t.TempDir(), "state", "usage.json")}
	if p, err := s.Show(); err != nil || len(p) != 0 {
		t.Fatalf("%v, %v", p, err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if err := s.Add("2024-01-01", "m", Usage{Calls: 1, Input: 2}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Add("2024-01-02", "", Usage{Scripts: 1})
	p, err := s.Show()
	if err != nil || p["2024-01-01"]["m"] != (Usage{Calls: 100, Input: 200}) || len(p) != 2 {
		t.Errorf("%v, %v", p, err)
	}
	s.Reset("2024-01-01")
	if p, _ := s.Show(); len(p) != 1 {
		t.Errorf("after forgetting a day: %v", p)
	}
	s.Reset("")
	if p, _ := s.Show(); len(p) != 0 {
		t.Errorf("after forgetting all: %v", p)
	}
}

func TestStateRefusals(t *testing.T) {
	s := UsageFile{filepath.Join(t.TempDir(), "usage.json")}
	os.WriteFile(s.Path, []byte("{"), 0o600)
	if _, err := s.Show(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("broken file: %v", err)
	}
	if err := s.Add("d", "m", Usage{}); err == nil {
		t.Error("a broken file was overwritten")
	}
	os.Chmod(s.Path, 0o644)
	if _, err := s.Show(); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("world-readable: %v", err)
	}
}

func TestWithin(t *testing.T) {
	s := UsageFile{Path: filepath.Join(t.TempDir(), "usage.json")}
	for _, model := range []string{"a", "b"} {
		if err := s.Add("2026-01-01", model, Usage{Input: 100, Output: 25}); err != nil {
			t.Fatal(err)
		}
	}
	b := Limits{Tokens: 1000, Weights: map[string]Weights{"b": {Input: 4}}} // a: 200, b: 100
	for total, want := range map[int64]int64{NoLimit: 1000, 5000: 1000, 700: 400, 301: 1} {
		if got, err := s.Within(total, b); err != nil || got.Tokens != want {
			t.Errorf("of %d: %d, %v; want %d", total, got.Tokens, err, want)
		}
	}
	if _, err := s.Within(300, b); fault.KindOf(err) != fault.Exhausted || fault.Hint(err) == "" {
		t.Errorf("all spent: %v", err)
	}
}
