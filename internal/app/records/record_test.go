package records

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/audit"
	"hako/audit/sqlite"
	"hako/run/fault"
)

func open(t testing.TB, b *book) *Record {
	t.Helper()
	r := NewRecord(b.path)
	r.clock = func() time.Time { return b.now }
	t.Cleanup(func() { r.Close() })
	return r
}

// request is what one leaves in the record.
func request(id, actor, script string, exit int, commands map[string]int) []audit.Event {
	return []audit.Event{
		{ID: id, Actor: actor, What: audit.Asked, Script: script},
		{ID: id, Actor: actor, What: audit.Ended, Exit: exit, Micros: 1000, Commands: commands},
	}
}

func search(t testing.TB, r *Record, q Query) []Entry {
	t.Helper()
	events, err := r.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// figures waits until everything is taken in.
func figures(t testing.TB, r *Record, since time.Time) Stats {
	t.Helper()
	got, err := r.Stats(t.Context(), since)
	for n := 0; fault.KindOf(err) == fault.Unavailable && n < 10; n++ {
		got, err = r.Stats(t.Context(), since)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSearch(t *testing.T) {
	b := newBook(t)
	begin := b.now
	b.write(request("a", "user", "cat Notes.txt", 0, map[string]int{"cat": 1})...)
	b.write(request("b", "agent:coder", "git status", 1, map[string]int{"git": 1})...)
	b.write(audit.Event{Actor: "agent:coder", What: audit.Denied, Argv: []string{"/bin/rm", "x"}, Rule: "default:3"})
	r := open(t, b)
	for round := range 2 { // the second time with an index
		for _, c := range []struct {
			q    Query
			want []int64
		}{
			{Query{}, []int64{5, 4, 3, 2, 1}},
			{Query{Most: 2}, []int64{5, 4}},
			{Query{Most: 2, Before: 4}, []int64{3, 2}},
			{Query{Text: "notes"}, []int64{1}},
			{Query{Actor: "user"}, []int64{2, 1}},
			{Query{What: "ended"}, []int64{4, 2}},
			{Query{Command: "rm"}, []int64{5}},
			{Query{Command: "git"}, []int64{4}},
			{Query{Since: begin.Add(2 * time.Second), Until: begin.Add(4 * time.Second)}, []int64{3, 2}},
			{Query{Actor: "user", Command: "git"}, nil},
		} {
			if got := seqs(search(t, r, c.q)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("round %d, %+v: %v, want %v", round, c.q, got, c.want)
			}
		}
		figures(t, r, time.Time{})
	}
}

// An event is found as soon as it is written, whatever the index knows.
func TestSearchIsNeverLate(t *testing.T) {
	b := newBook(t)
	r := open(t, b)
	for i := range 20 {
		b.fill(100)
		if got := search(t, r, Query{Most: 1}); got[0].Seq != int64(100*(i+1)) {
			t.Fatalf("%d events, found %v", 100*(i+1), seqs(got))
		}
		if got := search(t, r, Query{Text: "echo 7", Most: 1000}); len(got) != 11*(i+1) {
			t.Fatalf("%d of %d", len(got), 11*(i+1))
		}
	}
	if got := len(search(t, r, Query{})); got != defaultLimit {
		t.Errorf("%d events", got)
	}
}

func TestNoRecord(t *testing.T) {
	b := newBook(t)
	r := open(t, b)
	if got := search(t, r, Query{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got, err := r.Stats(t.Context(), b.now); err != nil || got.Requests != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.Verify(t.Context()); err != nil || got.Whole || got.Why == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(sqlite.PathFor(b.path)); err == nil {
		t.Error("there is an index of nothing")
	}
}

func TestRecordOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes here")
	}
	b := newBook(t)
	b.fill(1)
	os.Chmod(b.path, 0o644)
	r := open(t, b)
	_, err1 := r.Search(t.Context(), Query{})
	_, err2 := r.Stats(t.Context(), b.now)
	_, err3 := r.Verify(t.Context())
	for _, err := range []error{err1, err2, err3} {
		if !strings.Contains(fault.Hint(err), "chmod 600") {
			t.Errorf("%v", err)
		}
	}
}

func TestStrangeIndex(t *testing.T) {
	b := newBook(t)
	b.fill(1)
	os.WriteFile(sqlite.PathFor(b.path), []byte(strings.Repeat("not a database ", 100)), 0o600)
	r := open(t, b)
	if _, err := r.Search(t.Context(), Query{}); !strings.Contains(fault.Hint(err), "remove the file") {
		t.Errorf("%v", err)
	}
	os.Remove(sqlite.PathFor(b.path))
	if got := search(t, r, Query{}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// An index that breaks at work is opened again the next time.
func TestIndexBreaks(t *testing.T) {
	b := newBook(t)
	b.write(request("a", "user", "x", 0, nil)...)
	r := open(t, b)
	figures(t, r, time.Time{})
	r.index.Close()
	if _, err := r.Search(t.Context(), Query{}); !strings.Contains(fault.Hint(err), "remove the file") {
		t.Errorf("%v", err)
	}
	if got := search(t, r, Query{}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	b.write(request("b", "user", "y", 0, nil)...)
	r.index.Close()
	if _, err := r.Stats(t.Context(), time.Time{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	if got := figures(t, r, time.Time{}); got.Requests != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAnotherRecordIsSearched(t *testing.T) {
	b := newBook(t)
	b.fill(3000)
	r := open(t, b)
	figures(t, r, time.Time{})
	os.Truncate(b.path, 10_000)
	if got := search(t, r, Query{Most: 1}); len(got) != 1 || got[0].Seq > 100 {
		t.Errorf("cut: %v", seqs(got))
	}
	b.gone()
	b.write(request("a", "new", "x", 0, nil)...)
	if got := search(t, r, Query{}); len(got) != 2 || got[0].Actor != "new" {
		t.Errorf("another: %+v", got)
	}
	if got := figures(t, r, time.Time{}); got.Requests != 1 || len(got.Actors) != 1 {
		t.Errorf("another: %+v", got)
	}
}

func TestDamagedRecord(t *testing.T) {
	b := newBook(t)
	b.fill(3)
	text, _ := os.ReadFile(b.path)
	lines := strings.SplitAfter(string(text), "\n")
	os.WriteFile(b.path, []byte(lines[0]+"junk\n"+lines[2]+`{"seq":`), 0o600)
	r := open(t, b)
	for range 2 {
		if got := seqs(search(t, r, Query{})); !reflect.DeepEqual(got, []int64{3, 1}) {
			t.Errorf("%v", got)
		}
		figures(t, r, time.Time{})
	}
	if got, err := r.Verify(t.Context()); err != nil || got.Whole || got.Events != 1 ||
		!strings.Contains(got.Why, "line 2") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLockedIndex(t *testing.T) {
	b := newBook(t)
	b.write(request("a", "user", "x", 0, nil)...)
	r := open(t, b)
	figures(t, r, time.Time{})
	db, err := sql.Open("sqlite", sqlite.PathFor(b.path)+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	b.write(request("b", "user", "y", 0, nil)...)
	if got := search(t, r, Query{}); len(got) != 4 {
		t.Errorf("%v", seqs(got))
	}
	if _, err := r.Stats(t.Context(), time.Time{}); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Errorf("locked: %v", err)
	}
	tx.Rollback()
	if got := figures(t, r, time.Time{}); got.Requests != 2 {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestStats(t *testing.T) {
	b := newBook(t)
	begin := b.now
	b.write(request("a", "user", "cat x", 0, map[string]int{"cat": 2})...)
	b.now = b.now.AddDate(0, 0, 2)
	b.write(request("b", "user", "git x", 1, map[string]int{"git": 1})...)
	b.write(request("c", "agent:coder", "git x", 0, map[string]int{"git": 1})...)
	b.write(audit.Event{Actor: "user", What: audit.Denied, Argv: []string{"rm", "-rf"}, Rule: "default:3", Count: 3})
	b.now = b.now.AddDate(0, 0, 1)
	r := open(t, b)
	got := figures(t, r, begin)
	want := Stats{Requests: 3, Failed: 1, Denied: 3, P50: 1000, P95: 1000,
		Commands: []Counted{{Name: "cat", Count: 2}, {Name: "git", Count: 2, Failed: 1}},
		Denials:  []Counted{{Name: "rm", Count: 3}},
		Actors:   []Counted{{Name: "user", Count: 2, Failed: 1}, {Name: "agent:coder", Count: 1}},
		Days: []Counted{{Name: "2026-03-01", Count: 1}, {Name: "2026-03-02"}, {Name: "2026-03-03", Count: 2, Failed: 1},
			{Name: "2026-03-04"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := figures(t, r, begin.AddDate(0, 0, 1)); got.Requests != 2 || len(got.Days) != 3 {
		t.Errorf("since the second day: %+v", got)
	}
	if got := figures(t, r, time.Time{}); len(got.Days) != 4 {
		t.Errorf("since ever: %+v", got.Days)
	}
}

func TestVerify(t *testing.T) {
	b := newBook(t)
	b.fill(20)
	r := open(t, b)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := r.Verify(t.Context()); err != nil || !got.Whole || got.Events < 20 || got.Why != "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	b.fill(5)
	wg.Wait()
	if got, err := r.Verify(t.Context()); err != nil || got.Events != 25 {
		t.Errorf("%+v, %v", got, err)
	}
	os.Truncate(b.path, 500)
	if got, err := r.Verify(t.Context()); err != nil || got.Whole || got.Why == "" {
		t.Errorf("cut: %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.verifying <- struct{}{}
	if _, err := r.Verify(ctx); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
	<-r.verifying
	if _, err := r.Verify(ctx); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
}

// What was there before is taken in before anybody looks.
func TestBegin(t *testing.T) {
	b := newBook(t)
	r := open(t, b)
	r.Begin()
	r.updates.Wait()
	if _, err := os.Stat(sqlite.PathFor(b.path)); err == nil {
		t.Error("there is an index of nothing")
	}
	b.fill(5000)
	r.Begin()
	r.updates.Wait()
	if size, err := r.size(); err != nil || r.indexed != size {
		t.Errorf("%d of %d bytes, %v", r.indexed, size, err)
	}
}

// Closed while everybody is at work, it leaves nothing behind.
func TestCloseAtWork(t *testing.T) {
	b := newBook(t)
	b.fill(5000)
	before := runtime.NumGoroutine()
	r := NewRecord(b.path)
	r.Begin()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			_, _ = r.Search(t.Context(), Query{Text: fmt.Sprint("echo ", i)})
			_, _ = r.Stats(t.Context(), time.Time{})
		})
	}
	time.Sleep(50 * time.Millisecond)
	r.Close()
	wg.Wait()
	if _, err := r.Search(t.Context(), Query{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("after the end: %v", err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// BenchmarkSearch is the search of the first page of a record of many events.
func BenchmarkSearch(b *testing.B) {
	book := newBook(b)
	for range 10 {
		book.fill(10_000)
	}
	r := open(b, book)
	figures(b, r, time.Time{})
	for b.Loop() {
		if got := search(b, r, Query{Text: "echo 77", Most: 50}); len(got) != 50 {
			b.Fatal(len(got))
		}
	}
}
