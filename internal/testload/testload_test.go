package testload

import (
	"testing"
	"time"
)

func TestStretched(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                           time.Second,
		"x":                          time.Second,
		"0.00 0.00 0.00 0/80 11206":  time.Second,
		"15.00 9.00 3.00 2/80 11206": 8500 * time.Millisecond,
		"1.00 9.00 3.00 6/80 11206":  4 * time.Second,
	} {
		if got := stretched(time.Second, text, 2); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if Bound(time.Second) < time.Second {
		t.Error("a bound became shorter")
	}
}
