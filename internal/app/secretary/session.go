package secretary

import (
	"slices"
	"strings"
)

// declares tells whether a script may change what names mean in the session.
func (s *Secretary) declares(script string) bool {
	if s.Declares != nil {
		return s.Declares(script)
	}
	if s.ReadOnly == nil || s.ReadOnly(script) {
		return false
	}
	return strings.Contains(script, "(") || slices.ContainsFunc(commandsOf(script), changesNames)
}

// commandsOf splits a script where a command may end, quotes or not.
func commandsOf(script string) []string {
	return strings.FieldsFunc(script, func(c rune) bool { return strings.ContainsRune("\n;&|<>(){}`", c) })
}

// changesNames tells whether after a command other commands may be something
// else or find something else. It looks at the bare words: an argument that is
// spelled like such a command only costs the cache.
func changesNames(command string) bool {
	before := ""
	for _, word := range strings.Fields(command) {
		word = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(word)
		switch word {
		case "function", "alias", "unalias", "eval", "source", "trap", "exec", "set", "shopt", "enable", "hash", "export",
			"declare", "typeset", "unset":
			return true
		case ".": // which is most often the directory
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

// A watcher is asked about [Jobs] that can tell whether one of them is running.
type watcher interface {
	// Busy reports whether a job is running.
	Busy() bool
}

// busy tells whether a job may be changing something. Jobs that cannot tell are
// taken to run for ever.
func (s *Secretary) busy() bool {
	if s.Jobs == nil {
		return false
	}
	if w, ok := s.Jobs.(watcher); ok {
		return w.Busy()
	}
	return s.started
}
