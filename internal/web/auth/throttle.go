package auth

import (
	"cmp"
	"sync"
	"time"
)

// A Throttle limits failed logins by address and in total, as a leaky bucket. The zero value is ready for use. It is
// safe for concurrent use.
type Throttle struct {
	Each  int              // failures of one address within Every; zero means 10
	All   int              // failures of all addresses within Every; zero means 100
	Every time.Duration    // zero means a minute
	Now   func() time.Time // the clock; nil means the system's

	mu    sync.Mutex
	all   bucket
	each  map[string]bucket
	swept time.Time
}

const (
	defaultEach  = 10
	defaultAll   = 100
	defaultEvery = time.Minute
)

// A bucket fills with failures and leaks with time.
type bucket struct {
	level float64
	at    time.Time
}

// Wait returns how long an address must wait before the next try; zero means not at all.
func (t *Throttle) Wait(address string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.wait(t.each[address], t.most(t.Each, defaultEach)), t.wait(t.all, t.most(t.All, defaultAll)))
}

// Wrong counts a failure.
func (t *Throttle) Wrong(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.sweep(now)
	if t.each == nil {
		t.each = map[string]bucket{}
	}
	t.each[address] = t.add(t.each[address], now, t.most(t.Each, defaultEach))
	t.all = t.add(t.all, now, t.most(t.All, defaultAll))
}

func (t *Throttle) most(set, usual int) float64 { return float64(cmp.Or(set, usual)) }

func (t *Throttle) every() time.Duration { return cmp.Or(t.Every, defaultEvery) }

// level is the current level of a bucket.
func (t *Throttle) level(b bucket, now time.Time, most float64) float64 {
	leaked := most * now.Sub(b.at).Seconds() / t.every().Seconds()
	return max(0, b.level-leaked)
}

func (t *Throttle) add(b bucket, now time.Time, most float64) bucket {
	return bucket{min(t.level(b, now, most)+1, most), now}
}

func (t *Throttle) wait(b bucket, most float64) time.Duration {
	over := t.level(b, t.now(), most) + 1 - most
	if over <= 0 {
		return 0
	}
	return time.Duration(over / most * float64(t.every()))
}

// sweep removes empty buckets from time to time.
func (t *Throttle) sweep(now time.Time) {
	if now.Sub(t.swept) < t.every() {
		return
	}
	t.swept = now
	for address, b := range t.each {
		if t.level(b, now, t.most(t.Each, defaultEach)) == 0 {
			delete(t.each, address)
		}
	}
}

func (t *Throttle) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}
