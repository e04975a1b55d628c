package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

func opened(t *testing.T, s *Store, task string) *Journal {
	t.Helper()
	j, err := s.Journal(task)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestRecordComesBack(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	j := opened(t, s, "t1")
	if r, err := j.Load(); err != nil || !reflect.DeepEqual(r, coder.Record{}) {
		t.Fatalf("%+v, %v", r, err)
	}
	want := coder.Record{State: coder.Processing, Phase: coder.Execution, Plan: &coder.Plan{Comment: "日本語"}, Version: 1,
		Items:   []llm.Item{{Role: llm.User, Text: "<x>"}},
		Pending: &llm.Item{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "a", Arguments: "{}"}}},
		Same:    map[string]int{"a": 2}, Spent: coder.Spent{Usage: quota.Usage{Input: 3}, Cost: 0.5}}
	if err := j.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got, err := opened(t, &Store{Dir: s.Dir}, "t1").Load(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Everything in the store is its owner's alone.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	s := &Store{Dir: filepath.Join(t.TempDir(), "store")}
	j := opened(t, s, "t1")
	if err := j.Save(t.Context(), coder.Record{}); err != nil {
		t.Fatal(err)
	}
	_, err := j.Once(t.Context(), "a", func(context.Context, bool) (string, error) { return "", nil })
	err = errors.Join(err, s.Keep(t.Context(), coder.Task{ID: "t1"}, coder.Record{}))
	_, cerr := s.Charge(t.Context(), "ann", "t1", coder.Spent{})
	if err = errors.Join(err, cerr); err != nil {
		t.Fatal(err)
	}
	n := 0
	_ = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, _ error) error {
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		n++
		return nil
	})
	if n < 8 {
		t.Errorf("only %d files", n)
	}
}

func TestBadNames(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a b", "ä", ".x", strings.Repeat("a", 65), "a\x00"} {
		if _, err := s.Journal(name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", name, err)
		}
		if err := s.Keep(t.Context(), coder.Task{ID: name}, coder.Record{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDamagedFileIsLeft(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	path := filepath.Join(s.Dir, "tasks", "t1", "record.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, []byte(`{"state":`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, s, "t1").Load(); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
	if text, _ := os.ReadFile(path); string(text) != `{"state":` {
		t.Errorf("it was changed: %q", text)
	}
}

func TestOnce(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	ctx, n := t.Context(), 0
	do := func(_ context.Context, again bool) (string, error) {
		if again {
			t.Error("it was in doubt")
		}
		n++
		return "ref", nil
	}
	for range 3 {
		if ref, err := opened(t, s, "t1").Once(ctx, "comment", do); err != nil || ref != "ref" {
			t.Fatal(ref, err)
		}
	}
	if ref, err := opened(t, s, "t1").Once(ctx, "other", do); n != 2 || err != nil || ref != "ref" {
		t.Errorf("done %d times: %v", n, err)
	}
	if _, err := opened(t, s, "t2").Once(ctx, "comment", do); n != 3 || err != nil {
		t.Errorf("done %d times: %v", n, err)
	}
}

// Something that was begun by one who died is in doubt for the next.
func TestDoubt(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = opened(t, s, "t1").Once(context.Background(), "comment", func(context.Context, bool) (string, error) {
			runtime.Goexit()
			return "", nil
		})
	}()
	<-done
	doubt := false
	ref, err := opened(t, s, "t1").Once(t.Context(), "comment", func(_ context.Context, again bool) (string, error) {
		doubt = again
		return "found", nil
	})
	if ref != "found" || err != nil || !doubt {
		t.Error(ref, err, doubt)
	}
}

// What was refused can be tried again; what did not answer stays in doubt.
func TestFailedOnce(t *testing.T) {
	for kind, doubt := range map[fault.Kind]bool{fault.Denied: false, fault.Invalid: false, fault.NotFound: false,
		fault.Unavailable: true, fault.Timeout: true, fault.Other: true} {
		j := opened(t, &Store{Dir: t.TempDir()}, "t1")
		refused := &fault.Error{Kind: kind, Op: "say", Why: "no"}
		if _, err := j.Once(t.Context(), "a", func(context.Context, bool) (string, error) { return "", refused }); !errors.Is(
			err, refused) {
			t.Error(err)
		}
		_, _ = j.Once(t.Context(), "a", func(_ context.Context, again bool) (string, error) {
			if again != doubt {
				t.Errorf("%s: in doubt is %v", kind, again)
			}
			return "", nil
		})
	}
}

func TestPast(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	task := func(id string) coder.Task {
		return coder.Task{ID: id, Provider: "github", Repo: "o/r", Kind: coder.Issue, Number: 7}
	}
	for i, id := range []string{"a", "b", "a"} { // paused, then done
		if err := s.Keep(t.Context(), task(id), coder.Record{State: coder.Done, Summary: string(rune('1' + i)),
			Plan: &coder.Plan{Goal: coder.Goal{Objective: "x"}}}); err != nil {
			t.Fatal(err)
		}
	}
	past, err := s.Past(t.Context(), task("c"))
	if err != nil || len(past) != 2 || past[0].Task != "b" || past[1].Task != "a" || past[1].Summary != "3" ||
		past[1].Objective != "x" {
		t.Errorf("%+v, %v", past, err)
	}
	if own, err := s.Past(t.Context(), task("a")); err != nil || len(own) != 1 {
		t.Errorf("%+v, %v", own, err)
	}
	other := task("d")
	other.Number = 8
	if past, err := s.Past(t.Context(), other); err != nil || len(past) != 0 {
		t.Errorf("%+v, %v", past, err)
	}
}

func TestAccounts(t *testing.T) {
	now := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	s := &Store{Dir: t.TempDir(), Now: func() time.Time { return now }}
	spend := func(user, task string, cost float64) float64 {
		t.Helper()
		month, err := s.Charge(t.Context(), user, task, coder.Spent{Cost: cost, Usage: quota.Usage{Input: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return month.Cost
	}
	// The same task again is the same money.
	if a, b, c := spend("ann/../x", "t1", 1), spend("ann/../x", "t1", 2), spend("ann/../x", "t2", 3); a != 1 || b != 2 ||
		c != 5 {
		t.Error(a, b, c)
	}
	if other := spend("bob", "t3", 1); other != 1 {
		t.Error(other)
	}
	if got, err := s.Spent(t.Context(), "ann/../x"); err != nil || got.Cost != 5 || got.Input != 2 {
		t.Error(got, err)
	}
	now = now.Add(2 * time.Hour)
	if got, err := s.Spent(t.Context(), "ann/../x"); err != nil || got.Cost != 0 {
		t.Error(got, err)
	}
	if a := spend("ann/../x", "t4", 1); a != 1 {
		t.Error(a)
	}
}

// Several workers of one machine have the same accounts, each with a store of
// its own as processes have.
func TestAccountsOfManyWorkers(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := &Store{Dir: dir}
			for n := range 5 {
				if _, err := s.Charge(context.Background(), "ann", string(rune('a'+i)),
					coder.Spent{Cost: float64(n + 1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, err := (&Store{Dir: dir}).Spent(t.Context(), "ann"); err != nil || got.Cost != 40 {
		t.Error(got, err)
	}
}
