package auth

import (
	"cmp"
	"sync"
	"time"
)

// Tries counts wrong passwords, as it were: each address has a few, all
// addresses together have some more, and they come back with time. The zero
// value is ready for use, by many at once.
type Tries struct {
	Each  int              // wrong tries of one address within Every; zero means 10
	All   int              // wrong tries of all addresses within Every; zero means 100
	Every time.Duration    // zero means a minute
	Now   func() time.Time // the clock; nil means the system's

	mu    sync.Mutex
	all   bucket
	each  map[string]bucket
	swept time.Time
}

const (
	usualEach  = 10
	usualAll   = 100
	usualEvery = time.Minute
)

// A bucket fills with wrong tries and leaks with time.
type bucket struct {
	level float64
	at    time.Time
}

// Wait returns how long an address has to wait before it may try; zero means
// that it need not.
func (t *Tries) Wait(address string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.wait(t.each[address], t.most(t.Each, usualEach)), t.wait(t.all, t.most(t.All, usualAll)))
}

// Wrong counts a wrong try.
func (t *Tries) Wrong(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.sweep(now)
	if t.each == nil {
		t.each = map[string]bucket{}
	}
	t.each[address] = t.add(t.each[address], now, t.most(t.Each, usualEach))
	t.all = t.add(t.all, now, t.most(t.All, usualAll))
}

func (t *Tries) most(set, usual int) float64 { return float64(cmp.Or(set, usual)) }

func (t *Tries) every() time.Duration { return cmp.Or(t.Every, usualEvery) }

// level is how full a bucket is now.
func (t *Tries) level(b bucket, now time.Time, most float64) float64 {
	leaked := most * now.Sub(b.at).Seconds() / t.every().Seconds()
	return max(0, b.level-leaked)
}

func (t *Tries) add(b bucket, now time.Time, most float64) bucket {
	return bucket{min(t.level(b, now, most)+1, most), now}
}

func (t *Tries) wait(b bucket, most float64) time.Duration {
	over := t.level(b, t.now(), most) + 1 - most
	if over <= 0 {
		return 0
	}
	return time.Duration(over / most * float64(t.every()))
}

// sweep forgets those whose tries have all come back, now and then.
func (t *Tries) sweep(now time.Time) {
	if now.Sub(t.swept) < t.every() {
		return
	}
	t.swept = now
	for address, b := range t.each {
		if t.level(b, now, t.most(t.Each, usualEach)) == 0 {
			delete(t.each, address)
		}
	}
}

func (t *Tries) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}
