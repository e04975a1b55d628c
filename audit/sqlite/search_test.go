package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/audit"
	"hako/run/fault"
)

// many writes a record as a month of agents leaves it, with a few rare events.
func many(t testing.TB, path string, n int) {
	t.Helper()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := audit.Open(path, audit.Options{Now: func() time.Time { now = now.Add(2 * time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	commands := []string{"git", "go", "rg", "cat", "sed"}
	for i := 0; i < n; i += 4 {
		id, name, actor := fmt.Sprint("r", i), commands[i/4%5], fmt.Sprint("agent:", i/4%7)
		script := fmt.Sprintf("%s internal/part%d/file%d.go | head -n %d", name, i%97, i, i%50)
		events := []audit.Event{
			{ID: id, Actor: actor, What: audit.Asked, Script: script, Reason: "to see what is there"},
			{ID: id, Actor: actor, What: audit.Allowed, Argv: []string{name, fmt.Sprintf("internal/part%d/file%d.go", i%97, i)},
				Effect: "allow", Rule: "default:40"},
			{ID: id, Actor: actor, What: audit.Closed, Mode: "read", Path: fmt.Sprintf("/project/file%d.go", i), Bytes: 4000},
			{ID: id, Actor: actor, What: audit.Ended, Micros: int64(i%9000 + 500), Exit: i / 4 % 10 / 9, Bytes: 300,
				Commands: map[string]int{name: 1, "head": 1}},
		}
		if i == n/10/4*4 {
			events[1] = audit.Event{ID: id, Actor: "rare", What: audit.Denied, Argv: []string{"/usr/bin/xyzzy", "ひみつ"},
				Reason: "Plugh is not allowed", Rule: "x:1"}
		}
		for _, e := range events {
			if err := l.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// filters ask for everything in many ways.
func filters() (all []audit.Filter) {
	at := func(m int) time.Time { return time.Date(2024, 1, 1, 0, m, 0, 0, time.UTC) }
	for _, f := range []audit.Filter{
		{}, {What: audit.Ended}, {What: audit.Denied}, {What: "nothing"}, {Actor: "agent:3"}, {Actor: "rare"},
		{Actor: "nobody"},
		{Actor: "agent:3", What: audit.Asked}, {Command: "git"}, {Command: "head"}, {Command: "xyzzy"},
		{Command: "/usr/bin/xyzzy"}, {Command: "/bin/xyzzy"},
		{Command: "git", What: audit.Allowed}, {Command: "git", What: audit.Ended, Actor: "agent:2"},
		{Command: "go", Text: "part12"},
		{Text: "part17/"}, {Text: "PLUGH IS"}, {Text: "ひみつ"}, {Text: "-N 1"}, {Text: "a"}, {Text: "go"}, {Text: "default:40"},
		{Text: "xyzzy ひ"},
		{Text: "no such thing"}, {Text: "\"quoted"}, {Text: "Plugh", Actor: "rare"}, {Text: "plugh", What: audit.Ended},
		{ID: "r8"},
	} {
		for _, span := range [][2]time.Time{{}, {at(2), {}}, {{}, at(50)}, {at(30), at(31)}, {at(9000), {}}, {{}, at(0)}} {
			for _, before := range []int64{0, 1, 700} {
				f.Since, f.Until, f.Before = span[0], span[1], before
				all = append(all, f)
			}
		}
	}
	return all
}

// TestSearch compares with what reading everything finds, however much of the log
// the index knows, and though the clock was set back once.
func TestSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one goroutine at work for long: nothing for a race detector")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	x := index(t, dir)
	all := filters()
	for part := range 4 {
		if part < 3 {
			many(t, path, 600)
		}
		log := read(t, path)
		for i := part; i < len(all); i += 11 {
			log.compare(t, x, all[i])
		}
		if part == 0 || part == 2 { // so that none, half and all of it is known
			if err := x.Update(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A text is a log and its events, the newest first.
type text struct {
	log    []byte
	events []audit.Event
}

func read(t *testing.T, path string) (l text) {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l.log = log
	l.events, _ = audit.Query(bytes.NewReader(log), audit.Filter{})
	slices.Reverse(l.events)
	return l
}

func (l text) compare(t *testing.T, x *Index, f audit.Filter) {
	t.Helper()
	all := slices.DeleteFunc(slices.Clone(l.events), func(e audit.Event) bool { return !f.Match(&e) })
	for _, limit := range []int{0, 7} {
		want := all
		if f.Limit = limit; limit > 0 {
			want = all[:min(limit, len(all))]
		}
		got, err := x.Search(t.Context(), bytes.NewReader(l.log), int64(len(l.log)), f)
		if err != nil || !slices.Equal(numbers(got), numbers(want)) {
			t.Fatalf("%d events, %+v: %v, %v; want %v", len(l.events), f, numbers(got), err, numbers(want))
		}
	}
}

func numbers(events []audit.Event) (all []int64) {
	for _, e := range events {
		all = append(all, e.Seq)
	}
	return all
}

// An index of another log says nothing about this one.
func TestSearchInAnotherLog(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "other.jsonl")
	many(t, path, 400)
	x := index(t, dir)
	if err := x.Update(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	many(t, other, 40)
	read(t, other).compare(t, x, audit.Filter{What: audit.Ended})
	if err := os.Truncate(path, 30_000); err != nil {
		t.Fatal(err)
	}
	read(t, path).compare(t, x, audit.Filter{What: audit.Ended})
}

func TestSearchIsStopped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	many(t, path, 40)
	log, _ := os.ReadFile(path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := index(t, dir).Search(ctx, bytes.NewReader(log), int64(len(log)), audit.Filter{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Several processes take in the same log at the same time.
func TestUpdateTogether(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	many(t, path, 2000)
	var wg sync.WaitGroup
	for range 4 {
		x := index(t, dir)
		wg.Go(func() {
			for range 3 {
				if err := x.Update(t.Context(), path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := stats(t, index(t, dir), path, Scope{}); got.Total.Requests != 500 {
		t.Errorf("%+v", got.Total)
	}
}

func TestLocked(t *testing.T) {
	x, log := record(t, audit.Event{What: audit.Asked})
	other, err := x.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), strings.NewReader(""), 0, audit.Filter{}); err != nil {
		t.Errorf("who only reads waits: %v", err)
	}
	began := time.Now()
	err = x.Update(t.Context(), log)
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Hint(err), "again") ||
		time.Since(began) < time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	time.AfterFunc(300*time.Millisecond, func() { other.Rollback() })
	if err := x.Update(t.Context(), log); err != nil {
		t.Errorf("it is not waited for: %v", err)
	}
}

// Figures of many events are about those that adding them up one by one gives.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	many(t, path, 4000)
	x := index(t, dir)
	x.maxExact = 3000
	exact := stats(t, x, path, Scope{Top: 5})
	about, err := x.Figures(t.Context(), time.Time{}, 5)
	if err != nil {
		t.Fatal(err)
	}
	a, b := about.Total, exact.Total
	if a.Requests != b.Requests || a.Failed != b.Failed || a.Denied != b.Denied || !near(a.P50, b.P50) ||
		!near(a.P95, b.P95) {
		t.Errorf("got  %+v\nwant %+v", a, b)
	}
	for i, c := range exact.Commands {
		if got := about.Commands[i]; got.Name != c.Name || got.Count != c.Count || got.Failed != c.Failed {
			t.Errorf("got %+v, want %+v", got, c)
		}
	}
	if !slices.Equal(about.DeniedCommands, exact.DeniedCommands) || len(about.Actors) != len(exact.Actors) ||
		about.Actors[0].Requests != exact.Actors[0].Requests || about.Days[0].Requests != exact.Days[0].Requests {
		t.Errorf("got  %+v\nwant %+v", about, exact)
	}
	since := time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC) // few events follow: they are counted one by one
	exact = stats(t, x, path, Scope{Since: since, Top: 5})
	if about, err := x.Figures(t.Context(), since, 5); err != nil || !reflect.DeepEqual(about, exact) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, about, exact)
	}
}

func near(a, b int64) bool { return max(a, b)-min(a, b) <= b/10 }

// BenchmarkSearch searches a million events: HAKO_TEST_RECORD names a directory
// in which to keep them between runs.
func BenchmarkSearch(b *testing.B) {
	const size = 1_000_000
	dir := os.Getenv("HAKO_TEST_RECORD")
	if dir == "" {
		dir = b.TempDir()
	}
	path := filepath.Join(dir, "audit.jsonl")
	if _, err := os.Stat(path); err != nil {
		many(b, path, size)
	}
	x, err := Open(PathFor(path))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	began := time.Now()
	if err := x.Update(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	b.Log("taken in within", time.Since(began))
	f, err := audit.OpenRead(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	at := func(d int) time.Time { return time.Date(2024, 1, d, 0, 0, 0, 0, time.UTC) }
	for name, filter := range map[string]audit.Filter{
		"newest":             {},
		"what":               {What: audit.Ended},
		"rare what":          {What: audit.Denied},
		"actor":              {Actor: "agent:3"},
		"rare actor":         {Actor: "rare"},
		"actor and what":     {Actor: "agent:3", What: audit.Denied},
		"command":            {Command: "git"},
		"rare command":       {Command: "xyzzy"},
		"command and actor":  {Command: "git", Actor: "agent:3"},
		"command and what":   {Command: "git", What: audit.Denied},
		"text":               {Text: "part17/"},
		"text with a blank":  {Text: "head -n 17"},
		"rare text":          {Text: "plugh"},
		"rare text, short":   {Text: "ugh"},
		"rare text, foreign": {Text: "ひみつ"},
		"no text":            {Text: "quuxfrob"},
		"a number":           {Text: "file123456.go"},
		"a day":              {Since: at(3), Until: at(4)},
		"an empty day":       {Since: at(3), Until: at(4), What: audit.Denied},
		"page":               {Before: size / 2, Actor: "agent:3"},
	} {
		b.Run(name, func(b *testing.B) {
			filter.Limit = 50
			n := 0
			for b.Loop() {
				found, err := x.Search(b.Context(), f, info.Size(), filter)
				if err != nil {
					b.Fatal(err)
				}
				n = len(found)
			}
			b.ReportMetric(float64(n), "events")
		})
	}
	b.Run("figures", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Figures(b.Context(), time.Time{}, 31); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, since := range map[string]time.Time{"stats of all": {}, "stats of a day": time.Date(2024, 1, 23, 0, 0, 0, 0,
		time.UTC)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Stats(b.Context(), Scope{Since: since, Top: 31}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
