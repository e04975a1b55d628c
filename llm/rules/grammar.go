package rules

import (
	"regexp"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

// patternName finds the {name} in a pattern, and the classes of Unicode that look like it.
var patternName = lazyregexp.New(`(?:\\[pP])?\{[A-Za-z]+\}`)

// A parser turns the text of a request into a query.
type parser struct {
	*requestText
	grammar *grammar
	q       *query
}

// A match is a place where a rule matches, in cells.
type match struct {
	p        *parser
	from, to int     // what will be consumed
	sets     feature // by the rule
	groups   map[string][2]int
}

// run tries all rules, each as often as it matches.
func (p *parser) run() {
	for _, r := range p.grammar.rules() {
		p.apply(&r)
	}
	p.q.rest = p.grammar.rest(p.requestText)
}

func (p *parser) apply(r *rule) {
	for start := 0; start < len(p.cells); {
		m := p.find(r.pattern, start)
		if m == nil {
			return
		}
		m.sets = r.sets
		before := p.q.has
		if m.from < m.to && p.accepts(r, m) {
			p.q.set(r.sets)
			p.q.remember(p.q.has&^before, p.original(m.from, m.to))
			p.consume(m.from, m.to)
			start = m.from
			continue
		}
		start = m.from + 1
	}
}

func (p *parser) accepts(r *rule, m *match) bool {
	for _, do := range r.actions {
		if !do(p, m) {
			return false
		}
	}
	return true
}

// find looks for a pattern from a cell on. The cells before are part of the searched text, so that word boundaries stay
// where they are.
func (p *parser) find(re *regexp.Regexp, start int) *match {
	s, index := p.view()
	for _, loc := range re.FindAllStringSubmatchIndex(s, -1) {
		m := &match{p: p, groups: map[string][2]int{}}
		m.from, m.to = index[loc[0]], index[loc[1]]
		for g, name := range re.SubexpNames() {
			if name != "" && loc[2*g] >= 0 {
				m.groups[strings.TrimSuffix(name, "_")] = [2]int{index[loc[2*g]], index[loc[2*g+1]]}
			}
		}
		if x, ok := m.groups["x"]; ok {
			m.from, m.to = x[0], x[1]
		}
		if end, ok := m.groups["end"]; ok {
			m.to = end[0]
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

// text is what a group means; see [requestText.meant].
func (m *match) text(name string) string {
	g := m.groups[name]
	return m.p.meant(g[0], g[1])
}

// folded is a group as the rules see it.
func (m *match) folded(name string) string {
	g := m.groups[name]
	return m.p.folded(g[0], g[1])
}

// whole is the match as the rules see it.
func (m *match) whole() string { return m.p.folded(m.from, m.to) }

// mark is the mark that a group is; 0 if it is none.
func (m *match) mark(name string) rune {
	if g := m.groups[name]; g[1] == g[0]+1 && isAtom(m.p.cells[g[0]].r) {
		return m.p.cells[g[0]].r
	}
	return 0
}

// count is the whole number in a group; ok is false unless it is from 1 to a million, or -1 for the last one.
func (m *match) count(name string) (n int, ok bool) {
	if !m.has(name) {
		return 0, false
	}
	if n, err := strconv.Atoi(numberWords(m.folded(name))); err == nil {
		return n, true
	}
	if m.mark(name) != numberMark {
		return 0, false
	}
	f := m.p.atoms[m.p.cells[m.groups[name][0]].atom].num
	n = int(f)
	return n, f == float64(n) && n >= 1 && n <= 1e6
}

// counts returns all numbers in some groups; -1 is one that is no count.
func (m *match) counts(groups ...string) (list []int) {
	for _, name := range groups {
		if n, ok := m.count(name); ok && m.mark(name) == 0 && name == "n" { // a number word
			list = append(list, n)
		}
		for i := m.groups[name][0]; i < m.groups[name][1]; i++ {
			if m.p.cells[i].r != numberMark {
				continue
			}
			n, ok := (&match{p: m.p, groups: map[string][2]int{"n": {i, i + 1}}}).count("n")
			if !ok {
				n = -1
			}
			list = append(list, n)
		}
	}
	return list
}
