package redact

import "strings"

// values are the registered values, longest first.
type values []string

// replace replaces every value by the mark, and returns how many. At the same position the longest value is used.
func (v values) replace(s string) (clean string, places int) {
	if !v.any(s) {
		return s, 0
	}
	var b strings.Builder
	m := newMatcher(v)
	for at := 0; ; {
		from, to := m.next(s, at)
		b.WriteString(s[at:from])
		if from == len(s) {
			return b.String(), places
		}
		b.WriteString(Mark)
		places++
		at = to
	}
}

func (v values) any(s string) bool {
	for _, value := range v {
		if strings.Contains(s, value) {
			return true
		}
	}
	return false
}

// longest returns the length of the longest value.
func (v values) longest() int {
	if len(v) == 0 {
		return 0
	}
	return len(v[0])
}

// A matcher searches one text for all values. It caches the next position of each value, so that many occurrences
// of one do not cause many searches for another.
type matcher struct {
	values values
	at     []int
}

func newMatcher(v values) *matcher {
	m := &matcher{values: v, at: make([]int, len(v))}
	m.reset()
	return m
}

// reset prepares for another text.
func (m *matcher) reset() {
	for k := range m.at {
		m.at[k] = -1
	}
}

// next returns the first value in s that does not begin before low. If there is none, from is len(s).
func (m *matcher) next(s string, low int) (from, to int) {
	from, to = len(s), len(s)
	for k, value := range m.values {
		if m.at[k] < low {
			m.at[k] = len(s)
			if n := strings.Index(s[low:], value); n >= 0 {
				m.at[k] = low + n
			}
		}
		if m.at[k] < from {
			from, to = m.at[k], m.at[k]+len(value)
		}
	}
	return from, to
}
