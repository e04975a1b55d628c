package health

import (
	"strings"
	"sync"

	"hako/internal/redact"
)

// other is the label of what has none of its own.
const other = "other"

const maxLabel = 80 // bytes

// A labelSet limits the number of values of a label: every value is a time series that
// is kept for ever, here and by whatever collects the metrics.
type labelSet struct {
	limit int

	mu   sync.Mutex
	seen map[string]bool
}

// label returns the word, or "other" if there have been too many different ones.
func (s *labelSet) label(word string) string {
	word = label(word)
	s.mu.Lock()
	defer s.mu.Unlock()
	if word == other || s.seen[word] {
		return word
	}
	if len(s.seen) == s.limit {
		return other
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[word] = true
	return word
}

// label returns the word if it can be a name. Some come from models: neither arbitrary
// text nor a secret may become a label.
func label(word string) string {
	odd := func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_-.:/+@", r)
	}
	if word == "" || len(word) > maxLabel || strings.ContainsFunc(word, odd) || redact.Text(word) != word {
		return other
	}
	return word
}
