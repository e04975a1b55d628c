package rules

import (
	"regexp"
	"strings"
	"sync"
)

// A rule says what a phrase means. The pattern is a regular expression over the
// folded request; {name} in it stands for a word of the pack, a group called x
// for the part that is understood (else all of it is). The meaning may refuse a
// match, and may take more than the pattern did.
type rule struct {
	pattern string
	means   func(*parser, *match) bool
}

// A grammar is a language: its phrases in the order they are tried, the words that
// say nothing, and how what is left is cut into words.
type grammar struct {
	words    map[string]string
	rules    []rule
	compiled func() []*regexp.Regexp
	rest     func(*requestText) []unknownWords // what no rule understood
}

// newPack compiles the patterns when they are first needed: most runs of the
// program never ask this model.
func newPack(words map[string]string, rules []rule, rest func(*requestText) []unknownWords) *grammar {
	p := &grammar{words: words, rules: rules, rest: rest}
	p.compiled = sync.OnceValue(func() (list []*regexp.Regexp) {
		for _, r := range rules {
			list = append(list, regexp.MustCompile(p.expand(r.pattern)))
		}
		return list
	})
	return p
}

// marks are the words that every pack has.
var marks = strings.NewReplacer(
	"{Q}", string(quoteMark), "{F}", string(fileMark), "{D}", string(dateMark), "{P}", string(pathMark), "{H}",
	string(hole))

func (p *grammar) expand(pattern string) string {
	for range 3 { // words may use words
		for name, meaning := range p.words {
			pattern = strings.ReplaceAll(pattern, "{"+name+"}", meaning)
		}
	}
	return marks.Replace(pattern)
}

// A parser turns a line into a query.
type parser struct {
	*requestText
	pack *grammar
	q    *query
}

// A match is a place where a rule holds, in cells.
type match struct {
	p        *parser
	from, to int // what will be consumed
	groups   map[string][2]int
}

// run tries all rules, each as often as it holds.
func (p *parser) run() {
	for i, re := range p.pack.compiled() {
		p.apply(re, p.pack.rules[i].means)
	}
	p.q.rest = p.pack.rest(p.requestText)
}

func (p *parser) apply(re *regexp.Regexp, means func(*parser, *match) bool) {
	for start := 0; start < len(p.cells); {
		m := p.find(re, start)
		if m == nil {
			return
		}
		before := p.q.has
		if m.from < m.to && means(p, m) {
			p.q.learned(p.q.has&^before, p.original(m.from, m.to))
			p.consume(m.from, m.to)
			start = m.from
			continue
		}
		start = m.from + 1
	}
}

// find looks for a rule from a cell on. The cell before is seen too, so that
// word boundaries are where they are.
func (p *parser) find(re *regexp.Regexp, start int) *match {
	s, index := p.view()
	for _, loc := range re.FindAllStringSubmatchIndex(s, -1) {
		m := &match{p: p, groups: map[string][2]int{}}
		m.from, m.to = index[loc[0]], index[loc[1]]
		for g, name := range re.SubexpNames() {
			if name != "" && loc[2*g] >= 0 {
				m.groups[name] = [2]int{index[loc[2*g]], index[loc[2*g+1]]}
			}
		}
		if x, ok := m.groups["x"]; ok {
			m.from, m.to = x[0], x[1]
		}
		if m.from >= start {
			return m
		}
	}
	return nil
}

// has reports whether a group took part.
func (m *match) has(name string) bool {
	g, ok := m.groups[name]
	return ok && g[0] < g[1]
}

// text is what a group means; see [line.meant].
func (m *match) text(name string) string {
	g := m.groups[name]
	return m.p.meant(g[0], g[1])
}

// folded is a group as the rules see it.
func (m *match) folded(name string) string {
	g := m.groups[name]
	return m.p.folded(g[0], g[1])
}

func (l *requestText) folded(from, to int) string {
	var b strings.Builder
	for _, c := range l.cells[from:to] {
		b.WriteRune(c.r)
	}
	return strings.TrimSpace(b.String())
}

// mark is the mark that a group is; 0 if it is none.
func (m *match) mark(name string) rune {
	if g := m.groups[name]; g[1] == g[0]+1 && isAtom(m.p.cells[g[0]].r) {
		return m.p.cells[g[0]].r
	}
	return 0
}

// count is the whole number in a group; ok is false if it is none from 1 to a
// million.
func (m *match) count(name string) (n int, ok bool) {
	g := m.groups[name]
	if g[0] >= g[1] {
		return 0, false
	}
	if n, ok := numberWords[m.folded(name)]; ok {
		return n, true
	}
	if m.mark(name) != numberMark {
		return 0, false
	}
	f := m.p.atoms[m.p.cells[g[0]].atom].num
	n = int(f)
	return n, f == float64(n) && n >= 1 && n <= 1e6
}

var numberWords = map[string]int{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
	"fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100, "dozen": 12,
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
	"tenth": 10,
}
