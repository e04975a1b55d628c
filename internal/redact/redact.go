// Package redact removes secrets from text before it is written, logged, shown
// or sent to a model.
//
// It recognizes common keys, tokens and passwords by their spelling, and a [Set]
// also has registered values. A password in prose is not recognized. Ordinary text
// costs next to nothing: a byte is only looked at twice where a secret may begin.
package redact

import (
	"slices"
	"strings"
	"sync"
)

// Mark stands in place of a removed secret.
const Mark = "[redacted]"

// Text returns s without the secrets that can be recognized by their spelling. It
// returns s itself if there are none. A secret is followed for some kilobytes,
// then to the end of the word, so that the time is bounded.
func Text(s string) string {
	clean, _ := removeSecrets(s, 0)
	return clean
}

// A Filter removes what [Text] removes and what Values replaces, such as a [*Set]
// or a [*strings.Replacer]; nil Values replace nothing.
type Filter struct {
	Values interface{ Replace(string) string }
}

func (f Filter) replace(text string) string {
	if f.Values == nil {
		return text
	}
	return f.Values.Replace(text)
}

// Text returns text without secrets.
func (f Filter) Text(text string) string { return Text(f.replace(text)) }

// Shown returns text for somebody who has to see what it does before it runs:
// without Values and without tokens. What only its position or name makes a
// secret stays: whoever wrote the text chose both, and could hide a command there.
func (f Filter) Shown(text string) string { return withoutTokens(f.replace(text)) }

// Argv is Text for the words of a command: it also removes the word after an
// option such as --password. It never changes argv.
func (f Filter) Argv(argv []string) []string {
	var clean []string
	var now byte // the program, as its number
	for i, word := range argv {
		text := f.word(argv, i, &programs[now])
		now = programOf(argv, i, now)
		if text == word {
			continue
		}
		if clean == nil {
			clean = slices.Clone(argv)
		}
		clean[i] = text
	}
	if clean == nil {
		return argv
	}
	return clean
}

// A Set removes what [Text] removes and registered values. A nil Set has no values. It is safe for concurrent
// use.
type Set struct {
	mu     sync.RWMutex
	values values // replaced, never changed: readers keep what they got
}

// minValue is the length of the shortest registered value: replacing every "abc" would spoil the text and hint at
// the secret.
const minValue = 6

// Add registers secret values, such as the user's keys.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.values)
	for _, v := range values {
		if len(v) >= minValue && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	// The longer first: a value may begin with another.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	s.values = all
}

// Replace returns text without the registered values.
func (s *Set) Replace(text string) string {
	text, _ = s.known().replace(text)
	return text
}

// Text returns text without secrets.
func (s *Set) Text(text string) string { return Filter{s}.Text(text) }

// Count returns text without secrets, and in how many places it has [Mark] instead.
func (s *Set) Count(text string) (clean string, places int) {
	return removeSecrets(s.known().replace(text))
}

// withoutTokens removes texts that are a vendor's token as a whole.
func withoutTokens(text string) string {
	var b strings.Builder
	rest := 0
	for from, to := range secrets(text) {
		b.WriteString(text[rest:from])
		if found := text[from:to]; isToken(found) {
			b.WriteString(Mark)
		} else { // there may be one inside
			b.WriteString(found[:1] + withoutTokens(found[1:]))
		}
		rest = to
	}
	return b.String() + text[rest:]
}

// known returns the registered values.
func (s *Set) known() values {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.values
}

// Argv returns argv without secrets.
func (s *Set) Argv(argv []string) []string { return Filter{s}.Argv(argv) }

// word returns argv[i], an argument of p, without secrets.
func (f Filter) word(argv []string, i int, p *program) string {
	word := argv[i]
	if at := secretPart(argv, i, p); at < len(word) && !isReference(word[at:]) {
		return f.Text(word[:at]) + Mark
	}
	if at := cookiePart(argv, i, p); at < len(word) {
		const header = "Cookie: "
		return word[:at] + strings.TrimPrefix(f.Text(header+word[at:]), header)
	}
	return f.Text(word)
}

// secretPart returns where in argv[i] a secret begins that is recognized by its position; the length of the word
// if there is none.
func secretPart(argv []string, i int, p *program) int {
	word := argv[i]
	if name, _, ok := strings.Cut(word, "="); ok && len(name) <= 64 && secretName(name) > 0 {
		return len(name) + 1 // here blanks are part of the value
	}
	switch {
	case i == 0:
		return len(word)
	case isSecretOption(argv[i-1]) && !strings.HasPrefix(word, "-"), isPrintfValue(argv, i):
		return 0
	case strings.HasPrefix(argv[i-1], "-pass") && strings.HasPrefix(word, "pass:"): // of openssl
		return len("pass:")
	case p.user != 0:
		return userPart(argv[i-1], word, p.user)
	case p.flag != 0:
		return flagPart(argv[i-1], word, p)
	case p.last && i == len(argv)-1 && isHtpasswdPassword(argv, i):
		return 0
	}
	return len(word)
}

// isSecretOption reports whether the value of an option, the next word, is a secret.
func isSecretOption(option string) bool {
	name, ok := strings.CutPrefix(option, "--")
	return ok && secretName(name) != 0
}

// isPrintfValue reports whether argv[i] is what printf -v assigns to a secret variable.
func isPrintfValue(argv []string, i int) bool {
	if base(argv[0]) != "printf" || !strings.HasPrefix(argv[1], "-v") {
		return false
	}
	if name := argv[1][2:]; name != "" {
		return i > 1 && secretName(name) > 0
	}
	return i > 2 && secretName(argv[2]) > 0
}

// userPart returns where the password begins in the word after, or in, the option -u user:password of curl, or
// with another separator.
func userPart(option, word string, parts byte) int {
	at := len(word)
	switch {
	case userOption(option) && !strings.HasPrefix(word, "-"):
		at = strings.IndexByte(word, parts) + 1
	case strings.HasPrefix(word, "-u"), strings.HasPrefix(word, "-U"), strings.HasPrefix(word, "--user="),
		strings.HasPrefix(word, "--proxy-user="):
		at = strings.IndexByte(word, parts) + 1
	}
	if at == 0 {
		return len(word)
	}
	return at
}

// userOption reports whether the next word is user:password for curl: -u may be the last of several letters.
func userOption(option string) bool {
	if option == "--user" || option == "--proxy-user" {
		return true
	}
	n := len(option) - 1
	return n > 0 && option[0] == '-' && option[n]|0x20 == 'u' && span(option[1:], isAlphanumeric) == n
}

func base(command string) string { return command[strings.LastIndexByte(command, '/')+1:] }

// Find returns the secrets in a text that can be recognized by their spelling, to register them in a [Set]: the
// value of "password=…" cannot be recognized by itself. Each line of a multi-line key is one.
func Find(text string) (found []string) {
	seen := map[string]bool{}
	for from, to := range secrets(text) {
		for line := range strings.FieldsSeq(text[from:to]) {
			if len(line) < minFound || seen[line] || strings.Contains(Mark, line) {
				continue
			}
			if found = append(found, line); len(found) == maxFound {
				return found
			}
			seen[line] = true
		}
	}
	return found
}

// minFound is the length of the shortest value that Find returns; maxFound is how many it returns.
const (
	minFound = 8
	maxFound = 2000
)

// removeSecrets removes every secret that can be recognized by its spelling from a text in which before places
// were replaced already, and returns how many places there are then.
func removeSecrets(s string, before int) (clean string, places int) {
	var out []byte
	done := 0
	places = before
	for from, to := range secrets(s) {
		out = append(append(out, s[done:from]...), Mark...)
		places += 1 - marksWithin(s[from:to], before)
		done = to
	}
	if out == nil {
		return s, places
	}
	return string(append(out, s[done:]...)), places
}

// marksWithin returns how many places that were replaced before are in a part that is now removed.
func marksWithin(part string, before int) int {
	if before == 0 || len(part) < len(Mark) {
		return 0
	}
	return min(before, strings.Count(part, Mark))
}
