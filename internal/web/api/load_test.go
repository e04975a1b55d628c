package api

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
)

var ann = access.Actor{Name: "ann", Role: access.Operator}

const loadRate = 200 // requests a second

// loadTime is how long the load lasts: a minute where figures count.
func loadTime() time.Duration {
	switch {
	case os.Getenv("HAKO_BENCH") != "":
		return time.Minute
	case testing.Short():
		return time.Second
	}
	return 5 * time.Second
}

// TestLoad sends 200 requests a second, of several kinds, and no one may fail,
// though other clients never read or go away in the middle of a stream. When all
// is over nothing of them is left; goleak looks for goroutines at the end.
func TestLoad(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.write, s.limits.read = 10*time.Second, 10*time.Second })
	h.todos = []sessions.Todo{{ID: 1, Title: "x"}}
	ctx, cancel := context.WithCancel(t.Context())
	var nuisances sync.WaitGroup
	nuisances.Go(func() { h.chatter(ctx) })
	nuisances.Go(func() { h.comeAndGo(ctx) })
	for range 4 {
		defer h.mute("/api/v1/events", h.reader).Close()
	}
	l := &load{t: t, program: h.client(h.operator), browser: h.browser(h.operator)}
	l.run(loadTime())
	cancel()
	nuisances.Wait()
	slices.Sort(l.times)
	n := len(l.times)
	t.Logf("%d requests, p50 %v, p95 %v, p99 %v, slowest %v", n, l.times[n/2], l.times[n*95/100], l.times[n*99/100],
		l.times[n-1])
	if err := h.stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := h.open(); left != 0 {
		t.Errorf("%d streams are left", left)
	}
}

// A load is requests at a steady rate.
type load struct {
	t                *testing.T
	program, browser *client
	mu               sync.Mutex
	times            []time.Duration
}

func (l *load) run(lasts time.Duration) {
	var all sync.WaitGroup
	began, total := time.Now(), int(lasts.Seconds()*loadRate)
	for n := range total {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / loadRate)))
		all.Go(func() { l.send(n) })
	}
	all.Wait()
	if len(l.times) != total {
		l.t.Fatalf("%d of %d requests came back", len(l.times), total)
	}
}

func (l *load) send(n int) {
	who, method, path, body := l.kind(n)
	began := time.Now()
	res, err := who.http.Do(who.request(method, path, body))
	if err != nil {
		l.t.Error(err)
		return
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		l.t.Errorf("%s %s: %d %s, %v", method, path, res.StatusCode, body, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, time.Since(began))
}

// kind is what the nth request is.
func (l *load) kind(n int) (who *client, method, path string, body any) {
	switch n % 4 {
	case 0:
		return l.program, "GET", "/api/v1/todos", nil
	case 1:
		return l.browser, "GET", "/api/v1/approvals", nil
	case 2:
		return l.browser, "PATCH", "/api/v1/todos/1", `{"title":"y"}`
	}
	return l.program, "POST", "/api/v1/policy/check", `{"command":"ls"}`
}

// chatter has events written all the time, more than who does not read can take.
func (h *house) chatter(ctx context.Context) {
	for seq := int64(1); ; seq++ {
		select {
		case h.events <- records.Entry{Seq: seq, Text: string(make([]byte, 4<<10))}:
			time.Sleep(200 * time.Microsecond)
		case <-ctx.Done():
			return
		}
	}
}

// comeAndGo opens streams and hangs up in the middle of them.
func (h *house) comeAndGo(ctx context.Context) {
	c := h.client(h.operator)
	for ctx.Err() == nil {
		one, hangUp := context.WithTimeout(ctx, 20*time.Millisecond)
		if res, err := c.http.Do(c.request("GET", "/api/v1/events", nil).WithContext(one)); err == nil {
			io.CopyN(io.Discard, res.Body, 10_000)
			res.Body.Close()
		}
		hangUp()
	}
}
