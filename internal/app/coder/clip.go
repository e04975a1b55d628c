package coder

import "hako/internal/redact"

// Fit makes text of models and strangers fit for a comment, as those of the
// coordinator are.
func Fit(s *redact.Set, text string, most int) string { return defused(s, text, most) }

// FitReason makes a block of the text of an error, for people who must not know
// the machine.
func FitReason(s *redact.Set, text string) string {
	return quoted(defused(s, withoutPaths(text), 4000))
}
