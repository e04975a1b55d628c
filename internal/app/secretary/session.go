package secretary

import (
	"slices"
	"strings"
)

// declares reports whether a script may redefine names in the session.
func (s *Secretary) declares(script string) bool {
	if s.Declares != nil {
		return s.Declares(script)
	}
	if s.ReadOnly == nil || s.ReadOnly(script) {
		return false
	}
	return strings.Contains(script, "(") || slices.ContainsFunc(commandsOf(script), changesNames)
}

// commandsOf splits a script where a command may end, ignoring quotes.
func commandsOf(script string) []string {
	return strings.FieldsFunc(script, func(c rune) bool { return strings.ContainsRune("\n;&|<>(){}`", c) })
}

// changesNames reports whether a command may redefine names. It looks at the bare words: an argument
// that looks like such a command only costs the cache.
func changesNames(command string) bool {
	before := ""
	for _, word := range strings.Fields(command) {
		word = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(word)
		switch word {
		case "function", "alias", "unalias", "eval", "source", "trap", "exec", "set", "shopt", "enable", "hash", "export",
			"declare", "typeset", "unset":
			return true
		case ".": // usually the directory
			if before == "" || strings.Contains(before, "=") ||
				slices.Contains([]string{"then", "do", "else", "if", "elif", "while", "until", "!", "time", "command", "builtin"},
					before) {
				return true
			}
		}
		before = word
	}
	return false
}

// A watcher is a [Jobs] that reports whether a job is running.
type watcher interface {
	Busy() bool
}

// busy reports whether a job may be changing files. Jobs without Busy count as running once one was started.
func (s *Secretary) busy() bool {
	if s.Jobs == nil {
		return false
	}
	if w, ok := s.Jobs.(watcher); ok {
		return w.Busy()
	}
	return s.started
}
