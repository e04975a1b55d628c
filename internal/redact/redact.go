// Package redact removes secrets from text before it is written, logged, shown
// or sent to a model.
//
// It knows the spelling of common keys and tokens, and a [Set] also knows the
// values it was told. It is not a judge of what is secret in a document: a
// password in running prose passes. The rule to keep: ordinary text must cost
// next to nothing, so a byte is only looked at twice where a secret may begin.
package redact

import (
	"slices"
	"strings"
	"sync"
)

// Mark stands where a secret stood.
const Mark = "[redacted]"

// Text returns s without the secrets that can be recognized by their spelling. It
// returns s itself if there are none. A secret is followed for some kilobytes,
// then to the end of the word, so that the time is bounded.
func Text(s string) string {
	clean, _ := cut(s, 0)
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

// A Set removes what [Text] removes and registered values. A nil Set has no
// values. It is safe for concurrent use.
type Set struct {
	mu     sync.RWMutex
	values values // replaced, never changed: readers keep what they got
}

// shortest is the length below which a registered value is ignored: removing
// every "abc" would spoil the text and hint at the secret.
const shortest = 6

// Add registers secret values, such as the user's keys.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.values)
	for _, v := range values {
		if len(v) >= shortest && !slices.Contains(all, v) {
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
func (s *Set) Count(text string) (clean string, places int) { return cut(s.known().replace(text)) }

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

// known returns the registered values as they are now.
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

// word returns argv[i], which p is the program of, without secrets.
func (f Filter) word(argv []string, i int, p *program) string {
	word := argv[i]
	if at := secretPart(argv, i, p); at < len(word) && !reference(word[at:]) {
		return f.Text(word[:at]) + Mark
	}
	if at := cookiePart(argv, i, p); at < len(word) {
		const header = "Cookie: "
		return word[:at] + strings.TrimPrefix(f.Text(header+word[at:]), header)
	}
	return f.Text(word)
}

// secretPart returns where in argv[i] a secret begins that only its place among
// the other words gives away; the length of the word if there is none.
func secretPart(argv []string, i int, p *program) int {
	word := argv[i]
	if name, _, ok := strings.Cut(word, "="); ok && len(name) <= 64 && secretName(name) > 0 {
		return len(name) + 1 // here blanks are part of the value
	}
	switch {
	case i == 0:
		return len(word)
	case follows(argv[i-1]) && !strings.HasPrefix(word, "-"), printed(argv, i):
		return 0
	case strings.HasPrefix(argv[i-1], "-pass") && strings.HasPrefix(word, "pass:"): // of openssl
		return len("pass:")
	case p.user != 0:
		return userPart(argv[i-1], word, p.user)
	case p.flag != 0:
		return flagPart(argv[i-1], word, p)
	case p.last && i == len(argv)-1 && lastPart(argv, i):
		return 0
	}
	return len(word)
}

// follows reports whether option is one whose value, the next word, is a secret.
func follows(option string) bool {
	name, ok := strings.CutPrefix(option, "--")
	return ok && secretName(name) != 0
}

// printed reports whether argv[i] is what printf -v puts into a secret variable.
func printed(argv []string, i int) bool {
	if base(argv[0]) != "printf" || !strings.HasPrefix(argv[1], "-v") {
		return false
	}
	if name := argv[1][2:]; name != "" {
		return i > 1 && secretName(name) > 0
	}
	return i > 2 && secretName(argv[2]) > 0
}

// userPart returns where the password begins in the word after, or in, the
// option -u user:password of curl, or what else parts them.
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

// userOption reports whether the next word is user:password for curl: -u may
// stand at the end of several letters.
func userOption(option string) bool {
	if option == "--user" || option == "--proxy-user" {
		return true
	}
	n := len(option) - 1
	return n > 0 && option[0] == '-' && option[n]|0x20 == 'u' && span(option[1:], letter) == n
}

func base(command string) string { return command[strings.LastIndexByte(command, '/')+1:] }

// Find returns the secrets in a text that can be told by their spelling, so that
// they can be told to a [Set]: once cut out of "password=…", a value has no
// spelling left. Of a key of several lines each line is one.
func Find(text string) (found []string) {
	seen := map[string]bool{}
	for from, to := range secrets(text) {
		for line := range strings.FieldsSeq(text[from:to]) {
			if len(line) < leastFound || seen[line] || strings.Contains(Mark, line) {
				continue
			}
			if found = append(found, line); len(found) == mostFound {
				return found
			}
			seen[line] = true
		}
	}
	return found
}

// leastFound is the length from which a value that was found is taken for more
// than a common word; mostFound is how many are looked for in everything later.
const (
	leastFound = 8
	mostFound  = 2000
)

// cut removes every secret that its spelling gives away from a text in which
// some places were removed before, and returns how many there are then.
func cut(s string, before int) (clean string, places int) {
	var out []byte
	done := 0
	places = before
	for from, to := range secrets(s) {
		out = append(append(out, s[done:from]...), Mark...)
		places += 1 - within(s[from:to], before)
		done = to
	}
	if out == nil {
		return s, places
	}
	return string(append(out, s[done:]...)), places
}

// within returns how many of the places that were removed before are in a part
// that is now removed as a whole.
func within(part string, before int) int {
	if before == 0 || len(part) < len(Mark) {
		return 0
	}
	return min(before, strings.Count(part, Mark))
}
