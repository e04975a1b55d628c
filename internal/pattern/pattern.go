// Package pattern matches shell patterns: * ? [set] and the extended forms
// @(a|b) ?(a) *(a) +(a) !(a). Matching takes time linear in the text, whatever
// the pattern: patterns become automata, they are never searched by backtracking.
//
// It knows nothing of files; package shell walks directories with it.
package pattern

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Mode changes how a pattern is read.
type Mode uint8

// The modes can be combined.
const (
	Fold    Mode = 1 << iota // letters match both cases
	ExtGlob                  // @( ?( *( +( !( are special
)

// A Pattern is a compiled shell pattern, safe for concurrent use.
type Pattern struct {
	src  string
	mode Mode

	lit      string // the text, when nothing in it is special
	literal  bool
	pre, suf string // literal ends of pre*suf
	star     bool   // the pattern is pre*suf
	whole    *regexp.Regexp
	longest  func() *regexp.Regexp // unanchored, leftmost-longest
	prefix   [2]func() *regexp.Regexp
	suffix   [2]func() *regexp.Regexp
	not      *negation
	groups   bool // it has an extended form
}

// HasMeta reports whether s has a character that is special in a pattern.
func HasMeta(s string) bool { return strings.ContainsAny(s, `*?[\`) }

// Quote returns a pattern that matches s and nothing else.
func Quote(s string) string {
	if !strings.ContainsAny(s, `*?[]\!@+()|-^`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[]\!@+()|-^`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Compile reads a pattern. Every text is a pattern: what makes no sense as a
// set or group stands for itself.
func Compile(src string, mode Mode) *Pattern {
	p := &Pattern{src: src, mode: mode}
	tr := translate(src, mode)
	p.groups = tr.groups
	if tr.plain && mode&Fold == 0 {
		p.lit, p.literal = tr.text, true
	}
	if tr.oneStar && mode&Fold == 0 {
		p.pre, p.suf, p.star = tr.text[:tr.starAt], tr.text[tr.starAt:], true
	}
	if tr.neg != nil {
		p.not = tr.neg
		return p
	}
	flags := "(?s)"
	if mode&Fold != 0 {
		flags = "(?si)"
	}
	greedy, lazy := tr.expr(true), tr.expr(false)
	if !p.literal && !p.star {
		p.whole = must(flags + `^(?:` + greedy + `)$`)
	}
	p.longest = sync.OnceValue(func() *regexp.Regexp {
		re := must(flags + `(?:` + greedy + `)`)
		re.Longest()
		return re
	})
	p.prefix[0] = sync.OnceValue(func() *regexp.Regexp { return must(flags + `^(?:` + lazy + `)`) })
	p.prefix[1] = sync.OnceValue(func() *regexp.Regexp {
		re := must(flags + `^(?:` + greedy + `)`)
		re.Longest()
		return re
	})
	p.suffix[0] = sync.OnceValue(func() *regexp.Regexp { return must(flags + `^.*((?:` + greedy + `))$`) })
	p.suffix[1] = sync.OnceValue(func() *regexp.Regexp { return must(flags + `(?:` + greedy + `)$`) })
	return p
}

// must compiles an expression of our own making; one that is too large for the
// automaton matches nothing.
func must(expr string) *regexp.Regexp {
	re, err := regexp.Compile(expr)
	if err != nil {
		re = regexp.MustCompile(`[^\x00-\x{10FFFF}]`)
	}
	return re
}

// Match reports whether the pattern matches all of s.
func (p *Pattern) Match(s string) bool {
	switch {
	case p.literal:
		return s == p.lit
	case p.star:
		return len(s) >= len(p.pre)+len(p.suf) && strings.HasPrefix(s, p.pre) && strings.HasSuffix(s, p.suf)
	case p.not != nil:
		return p.not.match(s)
	}
	return p.whole.MatchString(s)
}

// Prefix returns how many bytes at the start of s match, or -1; the longest
// such start or the shortest.
func (p *Pattern) Prefix(s string, longest bool) int {
	switch {
	case p.literal:
		return cutoff(strings.HasPrefix(s, p.lit), len(p.lit))
	case p.star && p.pre == "" && p.suf != "":
		i := strings.Index(s, p.suf)
		if longest {
			i = strings.LastIndex(s, p.suf)
		}
		return cutoff(i >= 0, i+len(p.suf))
	case p.not != nil:
		return p.not.prefix(s, longest)
	}
	if p.groups && !longest && len(s) <= longestNegation {
		return p.shortest(s)
	}
	loc := p.prefix[index(longest)]().FindStringIndex(s)
	if loc == nil {
		return -1
	}
	return loc[1]
}

// shortest tries one start of s after the other: the alternatives of a group
// have no order that would lead a regular expression to the shortest first.
func (p *Pattern) shortest(s string) int {
	for i := range splits(s) {
		if p.whole.MatchString(s[:i]) {
			return i
		}
	}
	return -1
}

// Suffix returns where the matching end of s starts, or -1.
func (p *Pattern) Suffix(s string, longest bool) int {
	switch {
	case p.literal:
		return cutoff(strings.HasSuffix(s, p.lit), len(s)-len(p.lit))
	case p.star && p.suf == "" && p.pre != "":
		i := strings.LastIndex(s, p.pre)
		if longest {
			i = strings.Index(s, p.pre)
		}
		return i
	case p.not != nil:
		return p.not.suffix(s, longest)
	case longest:
		if loc := p.suffix[1]().FindStringIndex(s); loc != nil {
			return loc[0]
		}
		return -1
	}
	if loc := p.suffix[0]().FindStringSubmatchIndex(s); loc != nil {
		return loc[2]
	}
	return -1
}

// Find returns the leftmost-longest match at or after from, or -1, -1.
func (p *Pattern) Find(s string, from int) (start, end int) {
	if p.literal {
		i := strings.Index(s[from:], p.lit)
		if i < 0 {
			return -1, -1
		}
		return from + i, from + i + len(p.lit)
	}
	if p.not != nil {
		return p.not.find(s, from)
	}
	loc := p.longest().FindStringIndex(s[from:])
	if loc == nil {
		return -1, -1
	}
	return from + loc[0], from + loc[1]
}

func index(longest bool) int {
	if longest {
		return 1
	}
	return 0
}

func cutoff(ok bool, n int) int {
	if ok {
		return n
	}
	return -1
}

// negation is a pattern with !( ) in it: regular, but not expressible in the
// syntax of regexp. It is matched by trying every split, so its text is short.
type negation struct {
	head, tail *Pattern // around the group
	inner      *Pattern
}

// longestNegation bounds the work of trying every split.
const longestNegation = 4096

func (n *negation) match(s string) bool {
	if len(s) > longestNegation {
		return false
	}
	for i := range splits(s) {
		if !n.head.Match(s[:i]) {
			continue
		}
		for j := range splits(s[i:]) {
			if n.tail.Match(s[i+j:]) && !n.inner.Match(s[i:i+j]) {
				return true
			}
		}
	}
	return false
}

// splits yields every position between two characters, ends included.
func splits(s string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; ; {
			if !yield(i) || i >= len(s) {
				return
			}
			_, w := utf8.DecodeRuneInString(s[i:])
			i += w
		}
	}
}

func (n *negation) prefix(s string, longest bool) int {
	best := -1
	for i := range splits(s) {
		if n.match(s[:i]) {
			best = i
			if !longest {
				return i
			}
		}
	}
	return best
}

func (n *negation) suffix(s string, longest bool) int {
	best := -1
	for i := range splits(s) {
		if n.match(s[i:]) {
			best = i
			if longest {
				return i
			}
		}
	}
	return best
}

func (n *negation) find(s string, from int) (int, int) {
	for i := range splits(s[from:]) {
		if e := n.prefix(s[from+i:], true); e >= 0 {
			return from + i, from + i + e
		}
	}
	return -1, -1
}
