package agent

import (
	"encoding/json"
	"strings"

	"hako/internal/redact"
)

// cleanJSON redacts the strings of a JSON text one by one: in the encoded text a line that ends with \n does not end,
// and what follows a secret would be redacted too. A text that is not JSON is redacted as it is.
func cleanJSON(s *redact.Set, text string) string {
	clean, _ := countJSON(s, text)
	return clean
}

// countJSON is cleanJSON that also returns how many places were changed.
func countJSON(s *redact.Set, text string) (clean string, places int) {
	if !json.Valid([]byte(text)) {
		return s.Count(text)
	}
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '"')
		if start < 0 {
			b.WriteString(text)
			return b.String(), places
		}
		end := start + literal(text[start:])
		b.WriteString(text[:start])
		value, n := cleanLiteral(s, text[start:end])
		b.WriteString(value)
		places += n
		text = text[end:]
	}
}

// literal returns the length of the string literal at the beginning of a valid text.
func literal(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func cleanLiteral(s *redact.Set, quoted string) (string, int) {
	var plain string
	if json.Unmarshal([]byte(quoted), &plain) != nil {
		return quoted, 0
	}
	clean, places := s.Count(plain)
	if clean == plain {
		return quoted, 0
	}
	out, _ := json.Marshal(clean) // of a string, which always works
	return string(out), places
}
