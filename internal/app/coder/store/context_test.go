package store

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/llm"
)

// keeper is a store whose clock goes on by a minute with each look.
func keeper(t *testing.T) *Store {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Store{Dir: t.TempDir(), Now: func() time.Time { at = at.Add(time.Minute); return at }}
}

func kept(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	all, err := s.Contexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		ids = append(ids, c.Task.ID)
	}
	return ids
}

// The messages, the plan and the tools of a task are there after its end,
// wherever its record was while it ran.
func TestContextIsKept(t *testing.T) {
	s := keeper(t)
	if ids := kept(t, s); ids != nil {
		t.Error(ids)
	}
	want := coder.Record{State: coder.Done, Plan: &coder.Plan{Comment: "the plan"}, Tools: []string{"text_editor"},
		Items: []llm.Item{{Role: llm.User, Text: "a message"}}}
	task := coder.Task{ID: "t1", Title: "a title"}
	if err := s.Keep(t.Context(), task, want); err != nil {
		t.Fatal(err)
	}
	if got, err := opened(t, s, "t1").Load(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	all, err := s.Contexts()
	if err != nil || len(all) != 1 || all[0].Task != task || all[0].State != coder.Done || all[0].Kept.IsZero() ||
		all[0].Bytes < 100 {
		t.Errorf("%+v, %v", all, err)
	}
}

// A record that could not be read again is kept without its messages.
func TestHugeContext(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it is huge")
	}
	s := keeper(t)
	r := coder.Record{Summary: "all is well", Items: []llm.Item{{Text: strings.Repeat("x", maxFile)}}}
	if err := s.Keep(t.Context(), coder.Task{ID: "t1"}, r); err != nil {
		t.Fatal(err)
	}
	if got, err := opened(t, s, "t1").Load(); err != nil || got.Summary != "all is well" || got.Items != nil {
		t.Errorf("%.100v, %v", got, err)
	}
}

// The newest are kept, as many as may be; one that is paused is not in question,
// nor one that runs.
func TestPrune(t *testing.T) {
	s := keeper(t)
	for i, state := range []coder.State{coder.Paused, coder.Done, coder.Failed, coder.Stopped, coder.Done} {
		if err := s.Keep(t.Context(), coder.Task{ID: fmt.Sprint("t", i)},
			coder.Record{State: state, Why: strings.Repeat("x", 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := opened(t, s, "running").Save(t.Context(), coder.Record{State: coder.Processing}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most  int
		bytes int64
		want  string
	}{{10, 1 << 20, "t4 t3 t2 t1 t0"}, {3, 1 << 20, "t4 t3 t2 t0"}, {10, 3000, "t4 t3 t0"}, {0, 0, "t4 t0"}} {
		if err := s.prune(c.most, c.bytes); err != nil {
			t.Error(err)
		}
		if got := strings.Join(kept(t, s), " "); got != c.want {
			t.Errorf("%d or %d bytes: %s", c.most, c.bytes, got)
		}
	}
	for task, want := range map[string]bool{"running": true, "t0": true, "t1": false} {
		if _, err := os.Stat(filepath.Join(s.Dir, "tasks", task, "record.json")); (err == nil) != want {
			t.Errorf("%s: %v", task, err)
		}
	}
}

// Keeping one more makes room for it.
func TestKeepPrunes(t *testing.T) {
	s := keeper(t)
	for i := range maxContexts + 3 {
		if err := s.keepContext(coder.Task{ID: fmt.Sprint("t", i)}, coder.Record{State: coder.Done}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Keep(t.Context(), coder.Task{ID: "last"}, coder.Record{State: coder.Done}); err != nil {
		t.Fatal(err)
	}
	if ids := kept(t, s); len(ids) != maxContexts || ids[0] != "last" || slices.Contains(ids, "t3") ||
		!slices.Contains(ids, "t4") {
		t.Errorf("%d, %s first", len(ids), ids[0])
	}
}
