package secretary

import "time"

// A rateLimiter is a token bucket: it limits commands per minute and allows bursts.
type rateLimiter struct {
	tokens float64
	last   time.Time // zero means full
}

// take takes a token, or returns how long to wait for one.
func (b *rateLimiter) take(now time.Time, perMinute int) (wait time.Duration, ok bool) {
	full, rate := float64(perMinute), float64(perMinute)/60
	if b.last.IsZero() {
		b.tokens = full
	} else {
		b.tokens = min(full, b.tokens+max(0, now.Sub(b.last).Seconds())*rate)
	}
	b.last = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / rate * float64(time.Second)), false
	}
	b.tokens--
	return 0, true
}
