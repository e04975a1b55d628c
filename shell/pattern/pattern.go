// Package pattern matches shell patterns: * ? [set] and the extended forms
// @(a|b) ?(a) *(a) +(a) !(a). Patterns without extended forms are matched
// segment by segment; the others by following sets of positions through the
// pattern, never by backtracking.
//
// Reading a pattern takes time and memory linear in its length. Matching can
// take longer than a caller has, so a [Matcher] reports its work to whoever
// made it and gives up when told to.
//
// It knows nothing of files; package shell walks directories with it.
package pattern

import (
	"errors"
	"strings"
)

// Mode changes how a pattern is read.
type Mode uint8

// The modes can be combined.
const (
	Fold    Mode = 1 << iota // letters match both cases
	ExtGlob                  // @( ?( *( +( !( are special
)

// maxDepth bounds how deep groups nest: matching calls itself for each level.
const maxDepth = 250

// errStopped is the error of a pattern that the check did not let be read.
var errStopped = errors.New("pattern not read to its end")

// errDepth is the error of a pattern whose groups are nested too deep.
var errDepth = errors.New("pattern nested too deep")

// A Pattern is a compiled shell pattern, safe for concurrent use.
type Pattern struct {
	fold bool
	err  error

	lit      string // the text, when nothing in it is special
	literal  bool
	pre, suf string // literal ends of pre*suf
	star     bool   // the pattern is pre*suf

	seq    []node
	parts  [][]node // seq between its stars, if there are no groups
	stars  bool     // seq has a star outside groups
	groups bool     // it has an extended form
}

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
// set or group stands for itself. A pattern nested too deep has an [Pattern.Err]
// and matches nothing.
func Compile(src string, mode Mode) *Pattern { return CompileUnder(src, mode, nil) }

// CompileUnder is Compile with a check of the work, as in [Pattern.Under]. A
// pattern that is not read to its end has an [Pattern.Err].
func CompileUnder(src string, mode Mode, check func(work int) bool) *Pattern {
	p := &Pattern{fold: mode&Fold != 0}
	r := &reader{src: src, ext: mode&ExtGlob != 0, fold: p.fold, effort: effort{check: check}}
	p.seq, p.err = r.read()
	if p.err != nil {
		p.seq = nil
		return p
	}
	p.groups = r.groups
	for _, n := range p.seq {
		p.stars = p.stars || n.kind == anyText
	}
	if !p.groups {
		p.parts = between(p.seq)
	}
	if !p.fold {
		p.simplify()
	}
	return p
}

// Err returns why the pattern cannot be used, or nil.
func (p *Pattern) Err() error { return p.err }

// simplify finds the patterns that are matched by comparing strings.
func (p *Pattern) simplify() {
	text := make([]string, 0, 2)
	for _, part := range p.parts {
		switch {
		case len(p.parts) > 2 || len(part) > 1 || len(part) == 1 && part[0].kind != literal:
			return
		case len(part) == 0:
			text = append(text, "")
		default:
			text = append(text, part[0].text)
		}
	}
	switch len(text) {
	case 1:
		p.lit, p.literal = text[0], true
	case 2:
		p.pre, p.suf, p.star = text[0], text[1], true
	}
}

// between cuts a sequence at its stars.
func between(seq []node) [][]node {
	var out [][]node
	from := 0
	for i, n := range seq {
		if n.kind == anyText {
			out = append(out, seq[from:i:i])
			from = i + 1
		}
	}
	return append(out, seq[from:])
}

// A Matcher is a pattern together with a check of the work it takes.
type Matcher struct {
	*Pattern
	check func(work int) bool
}

// Under returns a matcher that calls check every now and then with the work
// done since; about a nanosecond or a few is one unit. When check answers
// false, what is being matched ends as if nothing did.
func (p *Pattern) Under(check func(work int) bool) Matcher { return Matcher{p, check} }

// Match reports whether the pattern matches all of s.
func (p *Pattern) Match(s string) bool { return Matcher{Pattern: p}.Match(s) }

// Prefix is [Matcher.Prefix] without a check.
func (p *Pattern) Prefix(s string, longest bool) int { return Matcher{Pattern: p}.Prefix(s, longest) }

// Suffix is [Matcher.Suffix] without a check.
func (p *Pattern) Suffix(s string, longest bool) int { return Matcher{Pattern: p}.Suffix(s, longest) }

// Match reports whether the pattern matches all of s.
func (m Matcher) Match(s string) bool {
	switch {
	case m.err != nil:
		return false
	case m.literal:
		return s == m.lit
	case m.star:
		return len(s) >= len(m.pre)+len(m.suf) && strings.HasPrefix(s, m.pre) && strings.HasSuffix(s, m.suf)
	}
	r := m.run(s, false)
	if !m.groups {
		return r.segments(m.parts)
	}
	end, ok := r.ends(m.seq, r.point(0), last).max()
	return ok && end == len(s) && !r.stopped
}

// Prefix returns how many bytes at the start of s match, or -1; the longest
// such start or the shortest.
func (m Matcher) Prefix(s string, longest bool) int {
	switch {
	case m.err != nil:
		return -1
	case m.literal:
		return cutoff(strings.HasPrefix(s, m.lit), len(m.lit))
	case m.star && m.pre == "" && m.suf != "":
		i := strings.Index(s, m.suf)
		if longest {
			i = strings.LastIndex(s, m.suf)
		}
		return cutoff(i >= 0, i+len(m.suf))
	}
	return m.run(s, false).reach(m.Pattern, 0, longest)
}

// Suffix returns where the matching end of s starts, or -1.
func (m Matcher) Suffix(s string, longest bool) int {
	switch {
	case m.err != nil:
		return -1
	case m.literal:
		return cutoff(strings.HasSuffix(s, m.lit), len(s)-len(m.lit))
	case m.star && m.suf == "" && m.pre != "":
		if longest {
			return strings.Index(s, m.pre)
		}
		return strings.LastIndex(s, m.pre)
	}
	n := m.run(s, true).reach(m.Pattern, 0, longest)
	return cutoff(n >= 0, len(s)-n)
}

// A Finder looks for the matches in one text, from left to right.
type Finder struct {
	m      Matcher
	s      string
	starts positions // where matches start, once known
	known  bool
}

// Finder returns a finder for s.
func (m Matcher) Finder(s string) *Finder { return &Finder{m: m, s: s} }

// Find returns the leftmost-longest match at or after from, or -1, -1.
func (f *Finder) Find(from int) (start, end int) {
	m, s := f.m, f.s
	switch {
	case m.err != nil:
		return -1, -1
	case m.literal:
		i := strings.Index(s[from:], m.lit)
		if i < 0 {
			return -1, -1
		}
		return from + i, from + i + len(m.lit)
	case !m.groups && !m.stars:
		r := m.run(s, false)
		start := r.seek(m.seq, from, len(s))
		if start < 0 {
			return -1, -1
		}
		return start, r.fixed(m.seq, start)
	}
	return f.search(from)
}

// search finds a match of any length. All starts are found in one go from the
// right, so that a text without a match is not tried once for each character.
func (f *Finder) search(from int) (start, end int) {
	if !f.known {
		r := f.m.run(f.s, true)
		f.starts, f.known = r.ends(f.m.seq, positions{{0, len(f.s)}}, all).mirror(len(f.s)), true
		if r.stopped {
			f.starts = nil
		}
	}
	for len(f.starts) > 0 && f.starts[0].hi < from {
		f.starts = f.starts[1:]
	}
	if len(f.starts) == 0 {
		return -1, -1
	}
	start = max(from, f.starts[0].lo)
	r := f.m.run(f.s, false)
	if end, ok := r.ends(f.m.seq, r.point(start), last).max(); ok && !r.stopped {
		return start, end
	}
	return -1, -1
}

func cutoff(ok bool, n int) int {
	if ok {
		return n
	}
	return -1
}
