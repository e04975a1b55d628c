package main

import (
	"testing"
	"time"

	"hako/internal/app"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
)

// A worker whose time has run out is not shown as one that works.
func TestAgentStatusOfSilentWorker(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir(), AckWait: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	l := &app.TaskQueue{Queue: q}
	for _, c := range []struct {
		worker string
		age    time.Duration
		want   string
	}{{"vm/1", 10 * time.Second, "vm/1"}, {"vm/1", 31 * time.Second, "vm/1 (silent)"}, {"", time.Hour, ""}} {
		if got := l.Worker(dispatch.TaskStatus{Worker: c.worker, Changed: time.Now().Add(-c.age)}); got != c.want {
			t.Errorf("%q after %v: %q", c.worker, c.age, got)
		}
	}
}
