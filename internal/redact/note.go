package redact

import (
	"fmt"
	"strings"
)

// Note tells a person in how many places an output was changed; empty means none.
func Note(places int) string {
	switch places {
	case 0:
		return ""
	case 1:
		return "1 secret was redacted from the output"
	}
	return fmt.Sprintf("%d secrets were redacted from the output", places)
}

// ModelNote tells a model the same, and that it must not take the mark for data:
// what it copies or decodes would be wrong.
func ModelNote(places int) string {
	if places == 0 {
		return ""
	}
	return Note(places) + ": " + Mark + " stands there instead, the data itself is unchanged"
}

// Marks returns how many places of a text that was cleaned before have [Mark]. A
// text that had it from the start is counted too: nobody can tell any more.
func Marks(text string) int { return strings.Count(text, Mark) }
