package quota

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Left is what remains of a budget.
type Left struct {
	n, of amounts
}

// Calls returns how many calls of a model are left.
func (l Left) Calls() int64 { return l.n[0] }

// Tokens returns how many weighted tokens are left.
func (l Left) Tokens() int64 { return l.n[1] }

// Of returns what is left of the named limit; [NoLimit] if it is none.
func (l Left) Of(name string) int64 {
	for i, known := range LimitNames {
		if name == known {
			return l.n[i]
		}
	}
	return 0
}

// String returns "38 of 50 calls left, 88123 of 100000 tokens left" without what has no limit.
func (l Left) String() string {
	var parts []string
	for i, n := range l.n {
		switch {
		case n == NoLimit:
		case i == wall:
			parts = append(parts, fmt.Sprintf("%s of %s left", about(time.Duration(n)), about(time.Duration(l.of[i]))))
		default:
			parts = append(parts, fmt.Sprintf("%s of %s %s left", amount(i, n), amount(i, l.of[i]), units[i]))
		}
	}
	if parts == nil {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}

// about formats a duration without unnecessary digits: 1h, not 59m59.8s.
func about(d time.Duration) string {
	unit := time.Second
	if d >= 10*time.Minute {
		unit = time.Minute
	}
	text := d.Round(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// amount formats one number; a limit that only a parent has is "all".
func amount(i int, n int64) string {
	if n == NoLimit {
		return "all"
	}
	if strings.HasPrefix(units[i], "bytes") {
		return size(n)
	}
	return fmt.Sprint(n)
}

// MarshalJSON writes {"calls":{"left":38,"of":50},…}; times are in seconds.
func (l Left) MarshalJSON() ([]byte, error) {
	type pair struct {
		Left int64 `json:"left"`
		Of   int64 `json:"of,omitempty"`
	}
	out := make(map[string]pair)
	for i, n := range l.n {
		if n == NoLimit {
			continue
		}
		p := pair{n, l.of[i]}
		if p.Of == NoLimit {
			p.Of = 0
		}
		if i == wall {
			p.Left, p.Of = p.Left/int64(time.Second), p.Of/int64(time.Second)
		}
		out[LimitNames[i]] = p
	}
	return json.Marshal(out)
}
