package records

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"hako/audit"
	"hako/internal/testload"
	"hako/run/fault"
)

// watch begins to watch and ends with the test.
func watch(t testing.TB, l *Live, after int64) <-chan Entry {
	t.Helper()
	events, err := l.Watch(t.Context(), after)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// next waits for so many events.
func next(t testing.TB, from <-chan Entry, n int) []Entry {
	t.Helper()
	var all []Entry
	late := time.After(testload.Bound(20 * time.Second))
	for len(all) < n {
		select {
		case e, more := <-from:
			if !more {
				t.Fatalf("the channel ends after %d of %d events", len(all), n)
			}
			all = append(all, e)
		case <-late:
			t.Fatalf("%d of %d events: %v", len(all), n, seqs(all))
		}
	}
	return all
}

// expect waits for the events from one number to another and for nothing else.
func expect(t testing.TB, events <-chan Entry, from, to int64) {
	t.Helper()
	for want := from; want <= to; want++ {
		if got := next(t, events, 1)[0].Seq; got != want {
			t.Fatalf("event %d, want %d", got, want)
		}
	}
	select {
	case e := <-events:
		t.Errorf("one too many: %d", e.Seq)
	case <-time.After(pollInterval / 2):
	}
}

func TestWatch(t *testing.T) {
	b := newBook(t)
	b.fill(3000)
	l := NewLive(b.path)
	for _, c := range []struct{ after, from int64 }{
		{0, 2801},    // the newest
		{2990, 2991}, // what is kept
		{1500, 1501}, // what has to be read again
		{3000, 3001}, // nothing
		{9000, 2801}, // of another record
	} {
		t.Run(fmt.Sprint("after ", c.after), func(t *testing.T) { expect(t, watch(t, l, c.after), c.from, 3000) })
	}
	early := watch(t, l, 3000)
	b.fill(5)
	expect(t, early, 3001, 3005)
	expect(t, watch(t, l, 0), 2806, 3005)
	b.fill(2000) // more than are kept
	expect(t, early, 3006, 5005)
	expect(t, watch(t, l, 3100), 3101, 5005)
}

// What was missed long ago stays missed.
func TestWatchMuchLater(t *testing.T) {
	b := newBook(t)
	b.fill(maxBacklog + 1000)
	expect(t, watch(t, NewLive(b.path), 5), 1001, maxBacklog+1000)
}

func TestWatchIsSoon(t *testing.T) {
	b := newBook(t)
	b.fill(1)
	events := watch(t, NewLive(b.path), 1)
	best := time.Hour
	for range 30 { // of a busy machine the best counts
		began := time.Now()
		b.fill(1)
		next(t, events, 1)
		if best = min(best, time.Since(began)); best <= 200*time.Millisecond {
			return
		}
	}
	t.Errorf("an event comes after %v", best)
}

func TestNoRecordYet(t *testing.T) {
	b := newBook(t)
	l := NewLive(b.path)
	events := watch(t, l, 0)
	b.fill(3)
	expect(t, events, 1, 3)
}

// Who does not read holds nobody up, and finds the newest when it does.
func TestSlowReader(t *testing.T) {
	b := newBook(t)
	b.fill(1)
	l := NewLive(b.path)
	slow, quick := watch(t, l, 1), watch(t, l, 1)
	next := func(events <-chan Entry, until int64) (n int) {
		for e := range events {
			if n++; e.Seq >= until {
				break
			}
		}
		return n
	}
	const all = 3*maxBacklog + 1
	for range 30 {
		b.fill(maxBacklog / 10)
		time.Sleep(time.Millisecond)
	}
	if n := next(quick, all); n > all-1 {
		t.Errorf("%d events", n)
	}
	if n := next(slow, all); n > 2*maxBacklog+1 || n < maxBacklog {
		t.Errorf("who is slow gets %d events", n)
	}
}

func TestNothingIsLeft(t *testing.T) {
	b := newBook(t)
	b.fill(500)
	before := runtime.NumGoroutine()
	l := NewLive(b.path)
	ctx, cancel := context.WithCancel(t.Context())
	var all []<-chan Entry
	for i := range 50 {
		events, err := l.Watch(ctx, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events)
	}
	next(t, all[0], 10) // and no more: the rest was never read
	cancel()
	for _, events := range all {
		for range events {
		}
	}
	for range 100 {
		l.mu.Lock()
		idle := l.from == nil && l.stop == nil && len(l.watchers) == 0
		l.mu.Unlock()
		if idle && runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestAnotherRecord(t *testing.T) {
	b := newBook(t)
	b.fill(10)
	events := watch(t, NewLive(b.path), 10)
	b.fill(1)
	expect(t, events, 11, 11)
	b.fill(1) // which must not be lost, though the file is gone at once
	b.gone()
	expect(t, events, 12, 12)
	b.fill(3)
	expect(t, events, 1, 3)
	b.gone()
	b.fill(30) // another that is longer, before anybody looks
	expect(t, events, 1, 30)
}

func TestCutRecord(t *testing.T) {
	b := newBook(t)
	b.fill(10)
	events := watch(t, NewLive(b.path), 10)
	whole, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	os.Truncate(b.path, int64(strings.LastIndexByte(string(whole[:len(whole)-1]), '\n')+1))
	time.Sleep(2 * pollInterval)
	b.fill(2) // 10 comes a second time, and is another
	expect(t, events, 10, 11)
	os.Truncate(b.path, 0)
	b.fill(20) // more than there was
	expect(t, events, 1, 20)
}

func TestDamagedLines(t *testing.T) {
	b := newBook(t)
	b.fill(2)
	events := watch(t, NewLive(b.path), 2)
	f, err := os.OpenFile(b.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(`{"seq":3,"ti`) // a crash
	time.Sleep(2 * pollInterval)
	b.fill(2)
	expect(t, events, 3, 4)
	f.WriteString("\x00\xff\n")
	text, _ := os.ReadFile(b.path)
	last := strings.Split(strings.TrimSpace(string(text)), "\n")
	f.WriteString(strings.Replace(last[len(last)-2], `"seq":4`, `"seq":5`, 1) + "\n") // what is no chain is still shown
	expect(t, events, 5, 5)
}

func TestUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes here")
	}
	b := newBook(t)
	b.fill(1)
	os.Chmod(b.path, 0o644)
	l := NewLive(b.path)
	if _, err := l.Watch(t.Context(), 0); !strings.Contains(fault.Hint(err), "chmod 600") {
		t.Errorf("a record that others can read: %v", err)
	}
	os.Chmod(b.path, 0o600)
	expect(t, watch(t, l, 0), 1, 1)
}

// BenchmarkWatch is how long an event takes to twenty who watch.
func BenchmarkWatch(b *testing.B) {
	book := newBook(b)
	book.fill(1000)
	l := NewLive(book.path)
	var all []<-chan Entry
	for range 20 {
		all = append(all, watch(b, l, 1000))
	}
	log, err := audit.Open(book.path, audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	for b.Loop() {
		if err := log.Append(audit.Event{What: audit.Asked, Script: "echo"}); err != nil {
			b.Fatal(err)
		}
		for _, events := range all {
			<-events
		}
	}
}
