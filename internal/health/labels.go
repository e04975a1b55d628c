package health

import (
	"strings"
	"sync"

	"hako/internal/redact"
)

// other is the label of what has none of its own.
const other = "other"

// longestLabel is the length from which a word is no name any more.
const longestLabel = 80

// words are the values a label has had. Every value is a series that is kept for
// ever, here and in whatever collects them, so their number is limited.
type words struct {
	most int

	mu   sync.Mutex
	seen map[string]bool
}

// label returns the word, or "other" once there have been too many different ones.
func (w *words) label(word string) string {
	word = label(word)
	w.mu.Lock()
	defer w.mu.Unlock()
	if word == other || w.seen[word] {
		return word
	}
	if len(w.seen) == w.most {
		return other
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[word] = true
	return word
}

// label returns the word if it can be a name: some come from models, and no text
// they think up, nor a secret, shall stand on the page.
func label(word string) string {
	if word == "" || len(word) > longestLabel || strings.ContainsFunc(word, unusual) || redact.Text(word) != word {
		return other
	}
	return word
}

func unusual(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_-.:/+@", r)
}
