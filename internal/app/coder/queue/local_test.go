package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

// An open directory is served to others, and by one of them when the first is gone.
func TestShareDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := opened(t, Options{Dir: dir})
	second := opened(t, Options{Dir: dir})
	put(t, second, "a")
	l := take(t, first)
	if s := state(t, second, "a"); s.State != Held {
		t.Errorf("%+v", s)
	}
	ok(t, l.Done(t.Context(), nil))
	put(t, first, "b")
	first.Close()
	l = take(t, second)
	if l.Item.ID != "b" || second.local.node == nil {
		t.Errorf("%+v", l)
	}
	ok(t, l.Done(t.Context(), nil))
	if s := state(t, second, "a"); s.State != Done {
		t.Errorf("%+v", s)
	}
	if _, err := first.Put(t.Context(), Item{ID: "c"}); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := first.Take(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q := opened(t, Options{Dir: dir, AckWait: time.Second})
	for i := range 20 {
		put(t, q, fmt.Sprint("task-", i))
	}
	l := take(t, q)
	ok(t, l.Save(t.Context(), json.RawMessage(`7`)))
	ok(t, take(t, q).Done(t.Context(), nil))
	q.Close()
	q = opened(t, Options{Dir: dir})
	if q.ackWait != time.Second {
		t.Errorf("a worker may be silent for %v", q.ackWait)
	}
	seen := map[string]bool{}
	for range 19 {
		next := take(t, q)
		if seen[next.Item.ID] {
			t.Errorf("%s twice", next.Item.ID)
		}
		seen[next.Item.ID] = true
		if next.Item.ID == l.Item.ID && (string(next.Step) != `7` || next.Token != 2) {
			t.Errorf("%+v", next)
		}
		ok(t, next.Done(t.Context(), nil))
	}
	nothing(t, q)
}

func TestUnusableDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(file, nil, 0o600))
	dirs := []string{file, filepath.Join(file, "below")}
	if os.Getuid() != 0 {
		locked := t.TempDir()
		ok(t, os.Chmod(locked, 0o500))
		dirs = append(dirs, locked)
	}
	open := t.TempDir()
	ok(t, os.Chmod(open, 0o777))
	for _, dir := range append(dirs, open) {
		q, err := Open(t.Context(), Options{Dir: dir, RetryFor: time.Second})
		if err == nil {
			q.Close()
		}
		if fault.KindOf(err) == fault.Other || fault.Hint(err) == "" || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A queue without room refuses what is new, and what is in it can be finished.
func TestFull(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{MaxBytes: 64 << 10})
	big := json.RawMessage(`"` + strings.Repeat("x", 8<<10) + `"`)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = q.Put(t.Context(), Item{ID: fmt.Sprint(n), Payload: big})
	}
	if fault.KindOf(err) != fault.Exhausted || fault.Hint(err) == "" || n < 5 || n > 9 {
		t.Fatalf("after %d: %v", n, err)
	}
	l := take(t, q)
	ok(t, l.Save(t.Context(), big))
	ok(t, l.Done(t.Context(), nil))
	ok(t, q.nc.Flush())
	eventually(t, func() bool { fresh, err := q.Put(t.Context(), Item{ID: "more"}); return err == nil && fresh })
}
