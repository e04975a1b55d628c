package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/audit"
	"hako/run/fault"
)

// work writes n requests of an actor, a day apart; every fifth fails.
func work(t testing.TB, path, actor string, n int) {
	t.Helper()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := audit.Open(path, audit.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		e := audit.Event{ID: fmt.Sprint(i), Actor: actor, What: audit.Ended, Micros: int64(i + 1), Bytes: 10,
			Commands: map[string]int{"cat": 2, "wc": 1}}
		if i%5 == 4 {
			e.Exit, e.Kind, e.Error = 1, "denied", "no"
			l.Append(audit.Event{Actor: actor, What: audit.Denied, Argv: []string{"rm"}, Rule: "default:7",
				Reason: "day " + now.Format("2")})
		}
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
		l.Append(audit.Event{Actor: actor, What: audit.Model, Tokens: 3, Cost: 0.5})
		now = now.Add(24 * time.Hour)
	}
}

func index(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(filepath.Join(dir, "audit 100%.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func stats(t testing.TB, x *Index, log string, s Scope) Stats {
	t.Helper()
	if err := x.Update(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	got, err := x.Stats(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStats(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.jsonl")
	work(t, log, "user", 100)
	work(t, log, "agent:coder", 10)
	x := index(t, dir)
	got := stats(t, x, log, Scope{})
	if g := got.Total; g.Requests != 110 || g.Failed != 22 || g.Rate != 0.2 || g.Denied != 22 || g.Bytes != 1100 ||
		g.Tokens != 330 || g.Cost != 55 {
		t.Errorf("total %+v", g)
	}
	if fmt.Sprint(got.Denials, got.DeniedCommands, got.Errors) != "[{default:7 22 day 10}] [{rm 22}] [{denied 22}]" {
		t.Errorf("%+v", got)
	}
	if len(got.Actors) != 2 || got.Actors[0].Name != "user" || got.Actors[0].P50 != 50 || got.Actors[0].P95 != 95 {
		t.Errorf("actors %+v", got.Actors)
	}
	if len(got.Days) != defaultTop || got.Days[0].Name != "2024-04-09" {
		t.Errorf("days %+v", got.Days)
	}
	day := func(d int) time.Time { return time.Date(2024, 1, d, 0, 0, 0, 0, time.UTC) }
	got = stats(t, x, log, Scope{Actor: "user", Since: day(2), Until: day(4), Top: 1})
	if got.Total.Requests != 2 || len(got.Commands) != 1 || got.Commands[0].Count != 4 {
		t.Errorf("%+v", got)
	}
}

// record writes events to a log and indexes it.
func record(t *testing.T, events ...audit.Event) (*Index, string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.jsonl")
	l, err := audit.Open(log, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, e := range events {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return index(t, dir), log
}

func TestCommands(t *testing.T) {
	ended := func(micros int64, exit int, commands map[string]int) audit.Event {
		return audit.Event{Actor: "user", What: audit.Ended, Micros: micros, Exit: exit, Commands: commands}
	}
	var events []audit.Event
	for i := range int64(20) {
		events = append(events, ended(100*(i+1), int(i)/15, map[string]int{"git": 1}))
	}
	events = append(events,
		ended(7, 0, map[string]int{"cat": 30, "sort": 20}),
		ended(9, 1, map[string]int{"sort": 1}),
		audit.Event{Actor: "user", What: audit.Denied, Argv: []string{"git", "push"}, Rule: "r:1", Reason: "not yet"},
		audit.Event{Actor: "user", What: audit.Refused, Argv: []string{"git", "push"}, Rule: "r:2",
			Reason: "a person said no"},
		audit.Event{Actor: "user", What: audit.Denied, Argv: []string{"rm"}, Reason: "no rule allows it"},
		audit.Event{Actor: "user", What: audit.Denied, Script: "curl http://x", Reason: "no rule allows it"},
		audit.Event{Actor: "other", What: audit.Denied, Argv: []string{"dd"}, Reason: "no rule allows it"},
	)
	x, log := record(t, events...)
	got := stats(t, x, log, Scope{Actor: "user"})
	want := []Command{
		{Name: "cat", Count: 30, Requests: 1, P50: 7, P95: 7},
		{Name: "sort", Count: 21, Requests: 2, Failed: 1, Rate: 0.5, P50: 7, P95: 9},
		{Name: "git", Count: 20, Requests: 20, Failed: 5, Rate: 0.25, Denied: 2, P50: 1000, P95: 1900},
	}
	if !slices.Equal(got.Commands, want) {
		t.Errorf("got  %+v\nwant %+v", got.Commands, want)
	}
	if fmt.Sprint(got.DeniedCommands) != "[{git 2} {curl 1} {rm 1}]" {
		t.Errorf("denied %+v", got.DeniedCommands)
	}
	if want := []Denial{{"no rule allows it", 2, ""}, {"r:1", 1, "not yet"},
		{"r:2", 1, "a person said no"}}; !slices.Equal(got.Denials, want) {
		t.Errorf("denials %+v", got.Denials)
	}
	if got := stats(t, x, log, Scope{Top: 1}); len(got.Commands) != 1 || len(got.DeniedCommands) != 1 ||
		len(got.Denials) != 1 {
		t.Errorf("the first of each: %+v", got)
	}
}

// One event may stand for several denials.
func TestDenialsCountForSeveral(t *testing.T) {
	x, log := record(t,
		audit.Event{Actor: "a", What: audit.Denied, Argv: []string{"curl"}, Rule: "r:1", Reason: "no", Count: 40},
		audit.Event{Actor: "a", What: audit.Denied, Argv: []string{"curl"}, Rule: "r:1", Reason: "not now"},
		audit.Event{Actor: "a", What: audit.Ended, Commands: map[string]int{"curl": 1}})
	got := stats(t, x, log, Scope{})
	if fmt.Sprint(got.Denials, got.DeniedCommands) != "[{r:1 41 not now}] [{curl 41}]" || got.Total.Denied != 41 ||
		got.Actors[0].Denied != 41 || got.Commands[0].Denied != 41 {
		t.Errorf("%+v", got)
	}
}

// Nothing is an empty list, not null, for programs that read it.
func TestEmptyLists(t *testing.T) {
	x, log := record(t)
	text, err := json.Marshal(stats(t, x, log, Scope{}))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s: %v", text, err)
	}
}

// An index of an earlier version lacks what this one knows.
func TestAnotherVersion(t *testing.T) {
	x, log := record(t, audit.Event{What: audit.Denied, Script: "curl http://x"})
	stats(t, x, log, Scope{})
	if _, err := x.db.Exec(`pragma user_version = 2; update event set command = ''`); err != nil {
		t.Fatal(err)
	}
	x.Close()
	if got := stats(t, index(t, filepath.Dir(log)), log, Scope{}); fmt.Sprint(got.DeniedCommands) != "[{curl 1}]" {
		t.Errorf("%+v", got)
	}
}

func TestUpdateGoesOnWhereItWas(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.jsonl")
	work(t, log, "user", 10)
	x := index(t, dir)
	for range 2 { // the second time there is nothing new
		if got := stats(t, x, log, Scope{}); got.Total.Requests != 10 {
			t.Fatalf("%+v", got.Total)
		}
	}
	f, _ := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString(`{"seq":`) // a crash
	f.Close()
	stats(t, x, log, Scope{})
	work(t, log, "user", 5)
	if got := stats(t, x, log, Scope{}); got.Total.Requests != 15 {
		t.Errorf("%+v", got.Total)
	}
	os.Remove(log)
	os.Remove(audit.HeadPath(log))
	work(t, log, "other", 3)
	if got := stats(t, x, log, Scope{}); got.Total.Requests != 3 || len(got.Actors) != 1 {
		t.Errorf("another log: %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.db")
	os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600)
	if _, err := Open(path); err == nil || !strings.Contains(fault.Hint(err), "remove the file") {
		t.Errorf("a strange file: %v", err)
	}
	os.Chmod(path, 0o644)
	if _, err := Open(path); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("a readable file: %v", err)
	}
	if err := index(t, dir).Update(t.Context(), filepath.Join(dir, "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no log: %v", err)
	}
}
