package redact

import (
	"fmt"
	"strings"
)

// Note tells a person how many secrets were removed; empty means none.
func Note(places int) string {
	switch places {
	case 0:
		return ""
	case 1:
		return "1 secret was redacted from the output"
	}
	return fmt.Sprintf("%d secrets were redacted from the output", places)
}

// ModelNote tells a model the same, and that the mark is not part of the data.
func ModelNote(places int) string {
	if places == 0 {
		return ""
	}
	return Note(places) + ": " + Mark + " stands there instead, the data itself is unchanged"
}

// Marks counts the places of a cleaned text that have [Mark], also those of the original text.
func Marks(text string) int { return strings.Count(text, Mark) }
