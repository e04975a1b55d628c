package server

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/container/guest/usage"
)

// A pond is a directory that a test fills.
type pond struct {
	diskWatch
	sync.Mutex    // guards what follows
	used, freeNow int64
	measured      int
	evicted       int
	running       bool
	err           error
	takes         time.Duration // to measure; does not change
}

func newPond(limit int64) *pond {
	p := &pond{freeNow: 1000, running: true}
	p.diskWatch = diskWatch{dir: "/w", limit: limit,
		measure: func(context.Context) (used int64, err error) {
			time.Sleep(p.takes)
			p.change(func() { p.measured++; used, err = p.used, p.err })
			return used, err
		},
		free: func() (n int64) { p.change(func() { n = p.freeNow }); return n },
		busy: func() (is bool) { p.change(func() { is = p.running }); return is },
		over: func() { p.change(func() { p.evicted++ }) }}
	return p
}

func (p *pond) change(f func()) {
	p.Lock()
	defer p.Unlock()
	f()
}

// write fills the pond.
func (p *pond) write(n int64) { p.change(func() { p.used, p.freeNow = p.used+n, p.freeNow-n }) }

// after lets so much time go by.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (p *pond) count(of *int) (n int) {
	p.change(func() { n = *of })
	return n
}

func (p *pond) looking() bool {
	p.diskWatch.mu.Lock()
	defer p.diskWatch.mu.Unlock()
	return p.set
}

// TestWatchMeasures checks that it measures when that may matter, and seldom
// otherwise.
func TestWatchMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(100)
		p.takes = time.Second
		p.keepLooking()
		p.keepLooking() // also for the second command there is one timer
		after(lookEvery + time.Second)
		if p.count(&p.measured) != 1 {
			t.Errorf("measured %d times, want once at first", p.count(&p.measured))
		}
		p.write(12)
		after(lookEvery + time.Second)
		if p.count(&p.measured) != 1 {
			t.Error("measured because of little")
		}
		p.write(1)
		after(lookEvery + time.Second)
		if p.count(&p.measured) != 2 || p.count(&p.evicted) != 0 {
			t.Errorf("measured %d times, evicted %d", p.count(&p.measured), p.count(&p.evicted))
		}
		after(measureAll + lookEvery)
		if p.count(&p.measured) != 3 {
			t.Errorf("measured %d times, want once more after a while", p.count(&p.measured))
		}
		p.change(func() { p.running = false })
		after(10 * measureAll)
		if p.count(&p.measured) > 4 || p.looking() {
			t.Errorf("measured %d times with nothing running", p.count(&p.measured))
		}
	})
}

// TestWatchSmall measures what is measured quickly each time.
func TestWatchSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(100)
		p.keepLooking()
		after(5 * lookEvery)
		p.change(func() { p.used, p.running = 101, false }) // and somebody else made room for that
		after(lookEvery)
		if p.count(&p.measured) < 6 || p.count(&p.evicted) != 1 {
			t.Errorf("measured %d times, evicted %d", p.measured, p.evicted)
		}
	})
}

func TestWatchFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(100)
		if (*diskWatch)(nil).full() || p.full() {
			t.Error("full from the beginning")
		}
		p.keepLooking()
		p.write(101)
		after(lookEvery)
		if p.count(&p.evicted) != 1 || !p.full() {
			t.Errorf("evicted %d", p.count(&p.evicted))
		}
		p.write(-50)
		before := p.count(&p.measured)
		if !p.full() || p.count(&p.measured) != before {
			t.Error("measured twice in a second")
		}
		p.change(func() { p.running = false })
		after(measureOnce)
		if p.full() || p.count(&p.measured) != before+1 || p.last() != 51 {
			t.Errorf("still full, measured %d times", p.count(&p.measured))
		}
		after(lookEvery)
		p.change(func() { p.err = usage.ErrDeep })
		p.write(40)
		if !p.full() {
			t.Error("what cannot be measured is let be")
		}
		if text := p.fullNote(); !strings.Contains(text, "100 bytes") || !strings.Contains(text, "/w") {
			t.Error(text)
		}
	})
}
