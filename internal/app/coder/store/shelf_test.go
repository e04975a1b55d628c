package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/quota"
	"hako/run/fault"
)

// memory is a shelf without a disk.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

func (m *memory) Change(_ context.Context, key string, do func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := do(m.values[key])
	if err == nil {
		m.values[key] = next
	}
	return err
}

// Workers of two machines have nothing in common but the queue: their accounts
// are one, and what one has learned the other inherits.
func TestSharedShelf(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	machine := func() *Store { return &Store{Dir: t.TempDir(), KeyValue: q.KeyValue("store")} }
	one, two := machine(), machine()
	task := func(id string) coder.Task { return coder.Task{ID: id, Repo: "o/r", Kind: coder.Issue, Number: 7} }
	if err := one.Keep(t.Context(), task("a"), coder.Record{State: coder.Failed, Why: "no network"}); err != nil {
		t.Fatal(err)
	}
	if past, err := two.Past(t.Context(), task("b")); err != nil || len(past) != 1 || past[0].Why != "no network" {
		t.Errorf("%+v, %v", past, err)
	}
	var all sync.WaitGroup
	for i, s := range []*Store{one, two, one, two} {
		all.Go(func() {
			for cost := range 5 {
				if _, err := s.Charge(t.Context(), "ann", fmt.Sprint("t", i), coder.Spent{Cost: float64(cost + 1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, err := one.Spent(t.Context(), "ann"); err != nil || got.Cost != 20 {
		t.Error(got, err)
	}
	if _, err := os.Stat(filepath.Join(one.Dir, "accounts")); err == nil {
		t.Error("there are accounts on the machine")
	}
	if list, err := one.Contexts(); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// However many tasks a person has in a month, the account stays small and its sum
// is right; a task that is charged again and again counts once.
func TestAccountsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	m := &memory{values: map[string][]byte{}}
	s := &Store{Dir: t.TempDir(), KeyValue: m, Now: func() time.Time { return now }}
	charge := func(task string, cost float64) float64 {
		t.Helper()
		month, err := s.Charge(t.Context(), "ann", task, coder.Spent{Cost: cost})
		if err != nil {
			t.Fatal(err)
		}
		return month.Cost
	}
	const n = 600
	for i := range n { // one in an hour
		now = now.Add(time.Hour)
		charge(fmt.Sprint("t", i), 1)
		charge("running", float64(i))
	}
	if got := charge("running", 5); got != n+5 {
		t.Errorf("%v instead of %v", got, n+5)
	}
	if got, err := s.Spent(t.Context(), "ann"); err != nil || got.Cost != n+5 {
		t.Error(got, err)
	}
	if value := m.values[hashedKey("accounts", "ann")]; len(value) > 30<<10 {
		t.Errorf("%d bytes", len(value))
	}
}

// Those of a busy day are told apart, as far as they fit on a shelf.
func TestAccountOfABusyDay(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var a account
	spent := coder.Spent{Cost: 1, Usage: quota.Usage{Input: 12345678, Cached: 12345678, Output: 1234567, Calls: 100}}
	for i := range maxTasks + 200 {
		now = now.Add(time.Second)
		a.charge(fmt.Sprintf("issue-%05d-k3j9x2ab", i), spent, now)
		if i == maxTasks-1 && len(a.Tasks) != maxTasks {
			t.Errorf("%d tasks are told apart", len(a.Tasks))
		}
	}
	if got := a.total(); got.Cost != maxTasks+200 || got.Calls != (maxTasks+200)*100 || len(a.Tasks) != maxTasks {
		t.Errorf("%+v", got)
	}
	if text, err := encode("account", a); err != nil || len(text) > 800<<10 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}

// What models say may be long; what is inherited is not.
func TestPastIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	m := &memory{values: map[string][]byte{}}
	s := &Store{Dir: t.TempDir(), KeyValue: m}
	long := "日日" + strings.Repeat("\x01", 100<<10) // which JSON spells with six letters
	for i := range maxPasts + 3 {
		task := coder.Task{ID: fmt.Sprint("t", i), Number: 1}
		if err := s.Keep(t.Context(), task,
			coder.Record{Summary: long, Why: long, Plan: &coder.Plan{Goal: coder.Goal{Objective: long}}}); err != nil {
			t.Fatal(err)
		}
	}
	past, err := s.Past(t.Context(), coder.Task{ID: "x", Number: 1})
	if err != nil || len(past) != maxPasts || past[0].Task != "t3" || !strings.HasPrefix(past[0].Summary, "日日") ||
		!strings.HasSuffix(past[0].Why, "\x01…") {
		t.Fatalf("%d, %v", len(past), err)
	}
	for key, value := range m.values {
		if len(value) > 800<<10 {
			t.Errorf("%s has %d bytes", key, len(value))
		}
	}
}

func TestDamagedValueIsLeft(t *testing.T) {
	m := &memory{values: map[string][]byte{hashedKey("accounts", "ann"): []byte(`{"tasks":1}`)}}
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(hashedKey("accounts", "ann"))+".json")
	if err := replace(path, []byte(`{"tasks":1}`)); err != nil {
		t.Fatal(err)
	}
	for where, s := range map[string]*Store{hashedKey("accounts", "ann"): {Dir: t.TempDir(), KeyValue: m}, path: {Dir: dir}} {
		_, cerr := s.Charge(t.Context(), "ann", "t", coder.Spent{})
		_, serr := s.Spent(t.Context(), "ann")
		for _, err := range []error{cerr, serr} {
			if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" || !strings.Contains(err.Error(), where) {
				t.Error(err)
			}
		}
	}
	if text, _ := os.ReadFile(path); string(text) != `{"tasks":1}` ||
		string(m.values[hashedKey("accounts", "ann")]) != `{"tasks":1}` {
		t.Errorf("it was changed: %q", text)
	}
}
