package audit

import (
	"fmt"

	"hako/internal/text"
)

// maxBounded is how much of one text [Event.Bounded] keeps. It is more than the record keeps, so that a secret at
// the cut is still whole when secrets are removed.
const maxBounded = maxText + 4<<10

// Bounded returns the event with texts that are not much longer than recorded ones, to send it to the process
// that keeps the record. A longer text ends with its length and hash; the receiver sets Marked.
func (e Event) Bounded() Event {
	for _, s := range []*string{&e.ID, &e.Actor, &e.Script, &e.Rule, &e.Reason, &e.Error, &e.Path, &e.Provider} {
		*s = bound(*s)
	}
	e.Argv = boundWords(e.Argv)
	if len(e.Commands) > 0 {
		e.Commands = boundNames(e.Commands)
	}
	return e
}

func bound(s string) string {
	if len(s) <= maxBounded {
		return s
	}
	return text.Prefix(s, maxBounded) + cutNote(s)
}

// boundWords omits words as the record does.
func boundWords(argv []string) []string {
	room := maxBounded
	for i, word := range argv {
		if room -= len(word) + 3; room >= 0 {
			continue
		}
		short := append([]string(nil), argv[:i]...)
		if i == 0 {
			short, i = append(short, bound(word)), 1
		}
		if rest := len(argv) - i; rest > 0 {
			short = append(short, fmt.Sprintf("[cut: %d more words]", rest))
		}
		return short
	}
	return argv
}

// boundNames omits names as the record does.
func boundNames(m map[string]int) map[string]int {
	short := make(map[string]int, len(m))
	room := maxBounded
	for name, n := range m {
		name = text.Prefix(name, 4<<10)
		if room -= len(name) + 3; room < 0 {
			name = "[cut]"
		}
		short[name] += n
	}
	return short
}
