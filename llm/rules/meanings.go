package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// says makes a rule that only notes features.
func says(f feature) func(*parser, *match) bool {
	return func(p *parser, _ *match) bool {
		p.q.set(f)
		return true
	}
}

// upTo makes a rule that notes features and leaves what it needs to see at the
// end for others.
func upTo(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		p.q.set(f)
		m.to = m.groups["end"][0]
		return true
	}
}

// yesOrNo notes that an answer begins with yes or no.
func yesOrNo(p *parser, _ *match) bool {
	p.q.asked = true
	return true
}

// howMany notes a question for a number; a second one is one too many.
func howMany(p *parser, m *match) bool {
	if p.q.asks++; p.q.asks > 1 {
		p.q.clash = p.original(m.from, m.to)
	}
	p.q.set(count)
	return true
}

// webSearch notes a request that is for the web and nothing else.
func webSearch(p *parser, m *match) bool {
	g := m.groups["query"]
	p.q.web = strings.Trim(p.original(g[0], g[1]), " 　.。?？!！")
	return p.q.web != ""
}

// topN notes a wish for the most frequent ones, with their number if it is said.
func topN(p *parser, m *match) bool {
	p.q.set(top)
	p.q.often = p.q.often || saysOften(p.original(m.from, m.to))
	if n, ok := m.count("n"); ok {
		return p.q.number(n)
	}
	return !m.has("n")
}

func leastN(p *parser, m *match) bool {
	p.q.set(least)
	return topN(p, m)
}

// per notes a wish for numbers by time.
func per(unit string) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		if n, ok := m.count("n"); m.has("n") && (!ok || n != 1) {
			return false // every two hours
		}
		p.q.per = unit
		p.q.set(period)
		return true
	}
}

// skipN notes how many lines at the start are left out.
func skipN(p *parser, m *match) bool {
	n, ok := m.count("n")
	if !m.has("n") {
		n, ok = 1, true
	}
	if !ok || p.q.some(head|tail|skip|span) {
		return false
	}
	p.q.skipped = n
	p.q.set(skip)
	return true
}

func firstN(p *parser, m *match) bool {
	if m.has("in") {
		p.q.set(inside)
	}
	return p.first(m, head)
}

func lastN(p *parser, m *match) bool {
	if m.has("in") {
		p.q.set(inside)
	}
	return p.first(m, tail)
}

// first notes a number of lines at one end.
func (p *parser) first(m *match, f feature) bool {
	n, ok := m.count("n")
	if !ok || p.q.some(head|tail|skip|span) || !p.q.number(n) {
		return false
	}
	p.q.set(f)
	p.noteRows(m)
	return true
}

var rowWords = lazyregexp.New(`\b(?:rows?|records?|entry|entries)\b|レコード|件`)

// noteRows notes that rows of a table were spoken of, to which a header does
// not belong.
func (p *parser) noteRows(m *match) {
	if rowWords.Get().MatchString(p.folded(m.from, m.to)) && p.q.about(hasFields) {
		p.q.set(records)
	}
}

// nth makes a rule for a fixed number of lines at one end.
func nth(f feature, n int) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		if end, ok := m.groups["end"]; ok {
			m.to = end[0]
		}
		if p.q.some(head|tail|skip|span) || !p.q.number(n) {
			return false
		}
		p.q.set(f)
		p.noteRows(m)
		return true
	}
}

// bareNumber notes a number of things without saying which ones.
func bareNumber(p *parser, m *match) bool {
	n, ok := m.count("n")
	if !ok || !p.q.number(n) {
		return false
	}
	p.q.set(amount)
	p.noteRows(m)
	return true
}

func fromN(p *parser, m *match) bool {
	n, ok := m.count("n")
	return ok && p.span(n, 0)
}

func nthLine(p *parser, m *match) bool {
	n, ok := m.count("n")
	p.noteRows(m)
	return ok && p.span(n, n)
}

func spanNM(p *parser, m *match) bool {
	n, ok := m.count("n")
	to, ok2 := m.count("m")
	if n > to && ok && ok2 {
		p.q.wrong = p.original(m.from, m.to)
		return true
	}
	return ok && ok2 && p.span(n, to)
}

// span notes lines by their numbers; 0 is the end of the file.
func (p *parser) span(from, to int) bool {
	if p.q.some(head | tail | skip) {
		return false
	}
	p.q.set(span)
	p.q.spans = append(p.q.spans, [2]int{from, to})
	return true
}

// spanList notes single lines: 3, 5 and 9.
func spanList(p *parser, m *match) bool {
	for _, n := range p.numbers(m, "n", "more") {
		if n < 1 || !p.span(n, n) {
			return false
		}
	}
	return true
}

// numbers collects all numbers in some groups; -1 stands for one that is no
// count.
func (p *parser) numbers(m *match, groups ...string) (list []int) {
	for _, name := range groups {
		g := m.groups[name]
		for i := g[0]; i < g[1]; i++ {
			if p.cells[i].r != numberMark {
				continue
			}
			n, ok := (&match{p: p, groups: map[string][2]int{"n": {i, i + 1}}}).count("n")
			if !ok {
				n = -1
			}
			list = append(list, n)
		}
	}
	if n, ok := m.count("n"); ok && !slices.Contains(list, n) { // a number word
		list = slices.Insert(list, 0, n)
	}
	return list
}

// columnNumbers notes columns by number.
func columnNumbers(p *parser, m *match) bool {
	if m.folded("n") == "last" {
		p.q.addField(fieldRef{number: -1})
		return true
	}
	list := p.numbers(m, "n", "more")
	if slices.Contains(list, -1) || len(list) == 0 {
		return false
	}
	for _, n := range list {
		p.q.addField(fieldRef{number: n})
	}
	return true
}

// byNumber notes the column to group, rank or sort by.
func byNumber(p *parser, m *match) bool {
	n, ok := m.count("n")
	if m.folded("n") == "last" {
		n, ok = -1, true
	}
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = fieldRef{number: n}
	p.q.set(grouped)
	return true
}

// byTotal is for "by total price": what to calculate was noted already.
func byTotal(p *parser, m *match) bool {
	m.to = m.groups["x2"][0]
	return p.q.is(totals | top)
}

// fieldPath notes a path into JSON.
func fieldPath(p *parser, m *match) bool {
	p.q.addField(fieldRef{name: m.text("name"), path: true})
	return true
}

// ofKind notes that a file was called by its kind.
func ofKind(p *parser, m *match) bool {
	if p.q.kind != "" {
		return false
	}
	p.q.kind = m.folded("kind")
	return true
}

// identical understands "are a and b the same" in one piece.
func identical(p *parser, m *match) bool {
	p.q.set(differ)
	return m.has("x")
}

// onlyInFirst notes the file whose lines are asked for.
func onlyInFirst(p *parser, m *match) bool {
	if p.q.is(onlyIn) {
		return false
	}
	p.q.only = m.text("a")
	p.q.set(onlyIn)
	return true
}

// onlyInOther notes the file that does not have them: the other's lines are
// asked for.
func onlyInOther(p *parser, m *match) bool {
	if p.q.is(onlyIn) {
		return false
	}
	not := m.text("b")
	names := p.q.named
	if len(names) != 2 {
		names = grantedNames(p.q.files)
	}
	if len(names) != 2 || !slices.Contains(names, not) {
		return false
	}
	p.q.only = names[1-slices.Index(names, not)]
	p.q.set(onlyIn)
	return true
}

func countUnit(p *parser, m *match) bool {
	p.q.set(count | map[string]feature{"lines": lines, "rows": lines, "words": words, "bytes": size}[m.folded("unit")])
	if strings.HasPrefix(m.folded("unit"), "char") {
		p.q.set(chars)
	}
	return true
}

func keyNames(p *parser, m *match) bool {
	if m.folded("how") == "how many" {
		p.q.set(count)
	}
	if end, ok := m.groups["end"]; ok {
		m.to = end[0]
	}
	p.q.set(keys)
	return true
}

// messageField is for "messages": of JSON a key, of a log what stands after the
// level.
func messageField(p *parser, _ *match) bool {
	if p.q.about(isJSON) {
		p.q.addField(fieldRef{name: "message"})
		return true
	}
	p.q.set(messages)
	return true
}

// countEach is for "counts": of a field, how often each of its values occurs.
func countEach(p *parser, m *match) bool {
	p.q.counts = p.original(m.from, m.to)
	p.q.set(count)
	return true
}

// listFilesSaid is for the word files on its own, where nothing is done with
// them.
func listFilesSaid(p *parser, _ *match) bool {
	if p.q.some(differ | onlyIn | common | which | include) {
		return false
	}
	p.q.set(fileList)
	return true
}

func levelField(p *parser, _ *match) bool {
	p.q.addField(fieldRef{name: "level"})
	return true
}

// levelNames are the levels by any of their names.
var levelNames = map[string]string{
	"error": "ERROR", "errors": "ERROR", "エラー": "ERROR",
	"warning": "WARN", "warnings": "WARN", "warn": "WARN", "warns": "WARN", "警告": "WARN", "ワーニング": "WARN",
	"info": "INFO", "infos": "INFO", "debug": "DEBUG", "debugs": "DEBUG", "デバッグ": "DEBUG",
	"fatal": "FATAL", "fatals": "FATAL", "critical": "FATAL", "criticals": "FATAL", "致命的": "FATAL", "致命的エラー": "FATAL",
	"致命的なエラー": "FATAL",
}

// ofLevel notes a level. One in capitals may be meant as a text.
func ofLevel(p *parser, m *match) bool {
	name := levelNames[m.folded("level")]
	if name == "" || p.q.level != "" && p.q.level != name {
		return false
	}
	p.q.level = name
	p.q.set(level)
	if written := m.text("level"); written == strings.ToUpper(written) && written != strings.ToLower(written) {
		p.q.caps = written
	}
	if m.has("msg") {
		p.q.set(messages)
	}
	return true
}
