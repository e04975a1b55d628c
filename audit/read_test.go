package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hako/internal/testload"
)

// sample writes a small day of work, an hour between events, and returns its path.
func sample(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := Open(path, Options{Now: func() time.Time { now = now.Add(time.Hour); return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, e := range []Event{
		{ID: "a", Actor: "user", What: Asked, Script: "cat x | wc -l"},
		{ID: "a", Actor: "user", What: Allowed, Argv: []string{"cat", "x"}},
		{ID: "a", Actor: "user", What: Ended, Commands: map[string]int{"cat": 1, "wc": 1}},
		{ID: "a/1", Actor: "agent:coder", What: Denied, Argv: []string{"/usr/bin/rm", "-rf", "箱"}, Rule: "default:3"},
		{ID: "ab", Actor: "agent:coder", What: Ended, Error: "Boom"},
	} {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestQuery(t *testing.T) {
	text, err := os.ReadFile(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	at := func(h int) time.Time { return time.Date(2024, 1, 1, h, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "[1 2 3 4 5]"},
		{Filter{ID: "a"}, "[1 2 3 4]"},
		{Filter{Actor: "agent:coder"}, "[4 5]"},
		{Filter{What: Ended}, "[3 5]"},
		{Filter{Command: "cat"}, "[2 3]"},
		{Filter{Command: "rm"}, "[4]"},
		{Filter{Text: "boom"}, "[5]"},
		{Filter{Text: "箱"}, "[4]"},
		{Filter{Since: at(2), Until: at(4)}, "[2 3]"},
		{Filter{Limit: 2}, "[4 5]"},
		{Filter{What: "nothing"}, "[]"},
	} {
		events, err := Query(bytes.NewReader(text), c.f)
		if got := fmt.Sprint(seqs(events)); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.f, got, err, c.want)
		}
	}
}

func seqs(events []Event) []int64 {
	var out []int64
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

func TestTailAndScan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 500)
	f, err := OpenRead(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	for n, want := range map[int]int{0: 0, 1: 1, 10: 10, 400: 400, 1000: 500} {
		events, err := Tail(f, info.Size(), n)
		if err != nil || len(events) != want || want > 0 && events[want-1].Seq != 500 {
			t.Errorf("the last %d: %d, %v", n, len(events), err)
		}
	}
	skipped, err := scan(bytes.NewReader([]byte("junk\n{}\n{\"seq\":1")), func(Event) error { return nil })
	if skipped != 3 || err != nil {
		t.Errorf("%d, %v", skipped, err)
	}
	stop := errors.New("enough")
	if _, err := scan(f, func(Event) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 3)
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(10*time.Second))
	defer cancel()
	seen := make(chan int64, 10)
	done := make(chan error)
	go func() {
		done <- Follow(ctx, path, 0, func(e Event) error {
			seen <- e.Seq
			return nil
		})
	}()
	time.Sleep(50 * time.Millisecond)
	fill(t, path, 2)
	for _, want := range []int64{4, 5} {
		if got := <-seen; got != want {
			t.Errorf("saw %d, want %d", got, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
