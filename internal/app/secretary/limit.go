package secretary

import "time"

// A bucket is a token bucket: it limits commands per minute and allows bursts.
type bucket struct {
	left float64
	seen time.Time // zero means full
}

// take takes a token, or returns how long to wait for one.
func (b *bucket) take(now time.Time, perMinute int) (wait time.Duration, ok bool) {
	full, rate := float64(perMinute), float64(perMinute)/60
	if b.seen.IsZero() {
		b.left = full
	} else {
		b.left = min(full, b.left+max(0, now.Sub(b.seen).Seconds())*rate)
	}
	b.seen = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / rate * float64(time.Second)), false
	}
	b.left--
	return 0, true
}
