package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A scribe is a ledger that remembers what it put on record, and when.
type scribe struct {
	eventLog
	events []Event
	times  []time.Time
}

func newScribe() *scribe {
	s := &scribe{}
	s.period = time.Second
	s.log = func(e Event) error {
		s.events, s.times = append(s.events, e), append(s.times, time.Now())
		return nil
	}
	return s
}

// held returns how many kinds are in memory, how many of them wait, and how many
// events are on record.
func (s *scribe) held() (kinds, waiting, recorded int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known), len(s.queue), len(s.events)
}

// busiest is the largest number of records in one second.
func (s *scribe) busiest() (limit int) {
	for i, from := range s.times {
		n := 0
		for _, at := range s.times[i:] {
			if at.Sub(from) < time.Second {
				n++
			}
		}
		limit = max(limit, n)
	}
	return limit
}

// One host that is denied over and over makes one event a second, and nothing of
// the number is lost.
func TestLedgerFolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScribe()
		for i := range 10_000 {
			s.deny(Event{ID: int64(i + 1), What: Denied, Method: "GET", Host: "evil.example", Port: 80 + i%2, Path: "/a",
				Why: "no", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}})
			time.Sleep(time.Millisecond)
		}
		s.close()
		if weight(s.events) != 10_000 || len(s.events) > 12 {
			t.Errorf("%d events for %d denials", len(s.events), weight(s.events))
		}
		if first := s.events[0]; first.ID != 1 || first.Count != 0 || first.Port != 80 {
			t.Errorf("the first: %+v", first)
		}
		if e := s.events[1]; e.ID != 2 || e.Host != "evil.example" || e.Why != "no" || e.Path != "/a" || e.Method != "GET" ||
			len(e.Addresses) != 1 || e.Port != 0 {
			t.Errorf("those that follow: %+v", e)
		}
	})
}

// A flood of ever new hosts is held back in the short and in the long run, with
// little in memory.
func TestLedgerHoldsBackAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds, each = 120, 100
		s := newScribe()
		for i := range seconds * each {
			s.deny(Event{ID: int64(i + 1), What: Denied, Host: fmt.Sprintf("h%d.example", i), Why: "no"})
			if kinds, waiting, _ := s.held(); kinds > maxKinds+maxDenials+1 || waiting > maxKinds+1 {
				t.Fatalf("%d kinds in memory, %d wait", kinds, waiting)
			}
			time.Sleep(time.Second / each)
		}
		s.close()
		if weight(s.events) != seconds*each {
			t.Errorf("%d denials on record, want %d", weight(s.events), seconds*each)
		}
		before := slices.DeleteFunc(slices.Clone(s.times),
			func(at time.Time) bool { return at.Equal(time.Now()) }) // the end tells the rest at once
		if n := len(before); n > maxBurst+seconds+1 {
			t.Errorf("%d events in %d seconds", n, seconds)
		}
		s.times = before
		if n := s.busiest(); n > 2*maxDenials { // of two periods
			t.Errorf("%d events in a second", n)
		}
		if !slices.ContainsFunc(s.events, func(e Event) bool {
			return e.Host == "" && e.Count > each &&
				e.Why == unnamed.why
		}) {
			t.Error("those without a name are nowhere counted")
		}
	})
}

// What is denied now and then goes on record at once, and nothing runs on.
func TestLedgerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScribe()
		for i := range 50 {
			s.deny(Event{What: Denied, Host: "evil.example", Why: "no"})
			if _, _, n := s.held(); n != i+1 {
				t.Fatalf("denial %d waits", i)
			}
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		if kinds, _, _ := s.held(); kinds > 0 || s.timer.Stop() {
			t.Error("a period is still under way")
		}
	})
}

// TestDenialsAreFolded sees the same through the proxy: what is let through stays
// on record one by one.
func TestDenialsAreFolded(t *testing.T) {
	p := &Proxy{Limits: Limits{Denials: time.Hour}}
	w, dial := siteWorld(t, p)
	for i := range 100 {
		get(t, dial, fmt.Sprintf("http://evil.example/%d%s", i, strings.Repeat("a", 3000)))
		if i < 40 {
			get(t, dial, "http://ok.example/echo")
		}
	}
	if n := len(w.told(t, Opened, 40)); n != 40 {
		t.Errorf("%d opened", n)
	}
	if n := len(w.told(t, Denied, 1)); n != 1 {
		t.Errorf("%d denied before the hour is over", n)
	}
	p.Close()
	told := w.told(t, Denied, 100)
	if len(told) != 2 || told[1].Count != 99 || told[1].Host != "evil.example" || told[1].Path != "" {
		t.Errorf("on record: %+v", told)
	}
}
