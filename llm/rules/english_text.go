package rules

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"hako/internal/lazyregexp"
)

// Words that end a text written without quotes.
var englishStops = wordSet(
	`in from within across but and or without excluding except sorted ordered ranked ignoring regardless
	please appear appears occur occurs are is was were do does did there then that which who where when for by per each every only using
	again also instead anywhere somewhere have has had inside into show list count print display sort find
	line lines row rows entry entries record records mentioned found seen logged used listed present appearing occurring repeated`)

// Words that change what is meant: a text without quotes that has one of them
// is not taken for a text.
var englishHazards = wordSet(
	`yesterday today tomorrow tonight hour hours day days week weeks month months year years minute minutes second seconds
	last first next before after since until between more less than most least recent latest oldest newest other others same different
	longer shorter larger smaller many few both either neither average sum total all any none not no if unless a an
	number numbers digit digits letter letters word words uppercase lowercase capital capitals vowel vowels exactly address addresses
	delete remove replace save send write email translate explain summarize summarise edit change move copy rename fix insert append it them`)

// Words that can stand before a field and are not its name.
var englishDeterminers = wordSet(
	`the all of a an each every its their my our these those this that any some for to in on at by from with and or
	what which show me give get list print display extract select count sort average sum top first last most unique distinct is are was were be
	per total how many number over up please whose where when find out only values value`)

// englishFiller are the words that say nothing by themselves.
var englishFiller = wordSet(
	`a an the of in on at to for from with and is are was were be been do does did has have had there here it its it's
	this that these those them they i i'd i'm i've me my we us our you your please kindly can could would will should may might want need like
	know tell say let let's give make me find calculate compute determine provide report check figure work what what's whats which how hey hi hello thanks thank ok okay so just only now then
	file files log logs data text document input all any some out up off value values exactly exact actually really simply quickly
	overall altogether appear appears appearing occur occurs occurring show shows exist exists found present mentioned seen logged listed as inside within into
	line lines row rows one ones result results answer output number numbers column table csv json tsv stdin sure`)

// wordSet tells which words are among some. Like [lazyregexp.Regexp], it does its work
// when it is first asked.
func wordSet(some string) func(word string) bool {
	set := sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(some) {
			set[word] = true
		}
		return set
	})
	return func(word string) bool { return set()[word] }
}

// wordAt returns the word at cell i, folded, and where it ends. A mark or a
// hole is a word of one cell.
func (l *requestText) wordAt(i int) (word string, end int) {
	if r := l.at(i); isAtom(r) || r == hole {
		return string(r), min(i+1, len(l.cells))
	}
	for end = i; end < len(l.cells); end++ {
		r := l.cells[end].r
		if r == ' ' || isAtom(r) || r == hole || strings.ContainsRune(`,;!?()"`, r) || r == '.' && !inName(l.at(end+1)) {
			break
		}
	}
	return l.folded(i, end), end
}

func (l *requestText) skipSpace(i int) int {
	for i < len(l.cells) && l.cells[i].r == ' ' {
		i++
	}
	return i
}

// readText reads one text to look for, from cell i: what is quoted, or words up
// to one that must mean something else.
func (p *parser) readText(i int) (text string, end int, ok bool) {
	i = p.skipSpace(i)
	switch p.at(i) {
	case quoteMark:
		return p.meant(i, i+1), i + 1, true
	case fileMark:
		return p.takeName(i), i + 1, true
	}
	end = i
	for at := i; ; {
		word, next := p.wordAt(at)
		if next == at || word == string(hole) || word == string(quoteMark) || word == string(fileMark) ||
			englishStops(word) && !(at == i && p.caps(at, next)) {
			break
		}
		if englishHazards(word) && !p.caps(at, next) && !(word == "not" && at > i) {
			return "", i, false
		}
		end = next
		at = p.skipSpace(next)
	}
	text = strings.TrimSpace(p.original(i, end))
	return text, end, text != ""
}

// caps reports whether some cells are written in capitals.
func (l *requestText) caps(from, to int) bool {
	s := l.original(from, to)
	return s == strings.ToUpper(s) && s != strings.ToLower(s)
}

// takeName uses the name of a file as a text.
func (p *parser) takeName(i int) string {
	name := p.meant(i, i+1)
	if at := slices.Index(p.q.named, name); at >= 0 {
		p.q.named = slices.Delete(p.q.named, at, at+1)
	}
	return strings.Trim(p.original(i, i+1), "\"'`「」『』“”")
}

// readTexts reads texts joined by and, or, or commas. The end is where the last
// one ends.
func (p *parser) readTexts(i int) (list []textFilter, any bool, end int) {
	text, end, ok := p.readText(i)
	if !ok {
		return nil, false, i
	}
	list = append(list, textFilter{text: text})
	quoted := p.at(p.skipSpace(i)) == quoteMark
	for {
		join, next := p.joint(end)
		if join == "" || quoted != (p.at(next) == quoteMark) {
			return list, any, end
		}
		text, stop, ok := p.readText(next)
		if !ok || join == "or" && len(list) > 1 && !any || join == "and" && any {
			return list, any, end
		}
		any = any || join == "or"
		list, end = append(list, textFilter{text: text}), stop
	}
}

// joint reads what joins two texts: "and", "or" or a comma before another
// quoted text.
func (p *parser) joint(i int) (join string, end int) {
	at := p.skipSpace(i)
	comma := p.at(at) == ','
	if comma {
		at = p.skipSpace(at + 1)
	}
	word, next := p.wordAt(at)
	if word == "and" || word == "or" {
		at = p.skipSpace(next)
		if after, stop := p.wordAt(at); stop == at || after == string(hole) || englishStops(after) || englishHazards(after) ||
			englishFiller(after) && after != string(quoteMark) {
			return "", i
		}
		return word, at
	}
	if comma && word == string(quoteMark) {
		return "and", at
	}
	return "", i
}

// with notes texts that lines must have.
func (p *parser) with(list []textFilter, any bool) bool {
	if len(list) == 0 || len(p.q.with) > 0 && (any || p.q.any) || slices.ContainsFunc(list, textFilter.empty) {
		return false
	}
	p.q.with = append(p.q.with, list...)
	p.q.any = p.q.any || any
	p.q.set(include)
	return true
}

// without notes texts that lines must not have.
func (p *parser) without(list []textFilter) bool {
	if len(list) == 0 || slices.ContainsFunc(list, textFilter.empty) {
		return false
	}
	p.q.but = append(p.q.but, list...)
	p.q.set(exclude)
	return true
}

// empty reports whether a needle cannot be found in a line: it is in all of
// them, or has a line break.
func (n textFilter) empty() bool { return n.text == "" || strings.ContainsAny(n.text, "\r\n") }

func readWith(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 1 && p.meansLevel(m.to, list[0].text) { // "lines containing errors"
		m.to = end
		p.q.level = levelNames[strings.ToLower(list[0].text)]
		p.q.set(level)
		return true
	}
	m.to = max(m.to, end)
	if len(list) == 1 && p.at(p.skipSpace(m.to)) != quoteMark && !any {
		list[0] = list[0].anchored()
	}
	return p.with(list, any)
}

// anchored reads ^The and dog$ as people mean them.
func (n textFilter) anchored() textFilter {
	start, hasStart := strings.CutPrefix(n.text, "^")
	inner, hasEnd := strings.CutSuffix(start, "$")
	if (hasStart || hasEnd) && inner != "" {
		if strings.ContainsAny(inner, `.[]*^$\+?(){}|`) {
			return textFilter{text: n.text, regex: true}
		}
		return textFilter{text: inner, starts: hasStart, ends: hasEnd}
	}
	return n
}

// meansLevel reports whether a text without quotes at a cell speaks of lines of
// a level: errors, but not error.
func (p *parser) meansLevel(i int, text string) bool {
	text = strings.ToLower(text)
	return levelNames[text] != "" && strings.HasSuffix(text, "s") && p.at(p.skipSpace(i)) != quoteMark && p.q.level == ""
}

// readNeither is for "contain neither X nor Y".
func readNeither(p *parser, m *match) bool {
	return p.without([]textFilter{{text: m.text("lit")}, {text: m.text("lit2")}})
}

// capitalLevels is for "ERROR and WARN lines": lines with one or the other.
func capitalLevels(p *parser, m *match) bool {
	var list []textFilter
	for _, g := range []string{"a", "b", "c"} {
		if !m.has(g) {
			continue
		}
		text := m.text(g)
		if text != strings.ToUpper(text) {
			return false
		}
		list = append(list, textFilter{text: text})
	}
	return p.with(list, true)
}

// sayWith is readWith for a rule that says something else besides.
func sayWith(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		if !readWith(p, m) {
			return false
		}
		p.q.set(f)
		return true
	}
}

// readLinesWith is for words that need not mean a text: a single one follows,
// or a quoted one.
func readLinesWith(p *parser, m *match) bool {
	text, _, ok := p.readText(m.to)
	if p.q.ground.named(text) >= 0 {
		return false // rows with region Tokyo
	}
	if !ok || strings.Contains(text, " ") && p.at(p.skipSpace(m.to)) != quoteMark && p.q.about(hasFields) {
		return false // "rows with region Tokyo" is not about a text
	}
	p.q.set(lines)
	return readWith(p, m)
}

func readWithout(p *parser, m *match) bool {
	list, _, end := p.readTexts(m.to)
	if len(list) == 0 || p.meansLevel(m.to, list[0].text) {
		return false
	}
	// "excluding weekends" need not mean a text, unless texts are what it is
	// about.
	explicit := explicitText.Get().MatchString(p.folded(m.from, m.to)) || p.at(p.skipSpace(m.to)) == quoteMark ||
		p.textual(p.skipSpace(m.to), end)
	for i := range list {
		list[i].loose = !explicit
	}
	m.to = max(m.to, end)
	return p.without(list)
}

var whereNot = lazyregexp.New(`\b(?:where|whose|for which) .*\b(?:is|are|was) not `)

var explicitText = lazyregexp.New(
	`contain|includ|mention|match|\bword|\btext|\bstring|\bphrase|lines?\b|rows?\b|\bwith\b`)

func readWithoutQuoted(p *parser, m *match) bool {
	if s, _ := p.view(); whereNot.Get().MatchString(s) {
		return false // a condition on a field
	}
	return p.without([]textFilter{{text: m.text("lit")}})
}

func readStart(p *parser, m *match) bool { return p.readEdge(m, textFilter{starts: true}) }
func readEnd(p *parser, m *match) bool   { return p.readEdge(m, textFilter{ends: true}) }

func (p *parser) readEdge(m *match, n textFilter) bool {
	var ok bool
	quoted := p.at(p.skipSpace(m.to)) == quoteMark
	n.text, m.to, ok = p.readText(m.to)
	n.dot = ok && !quoted && n.ends && p.at(m.to) == '.' // it may end the sentence only
	return ok && p.with([]textFilter{n}, false)
}

func readRegex(p *parser, m *match) bool {
	return p.with([]textFilter{{text: m.text("re"), regex: true}}, false)
}

// readLinesFor is for "rows for Tokyo": a name, by its capital.
func readLinesFor(p *parser, m *match) bool {
	text := m.text("lit")
	if m.mark("lit") != quoteMark && !unicode.IsUpper([]rune(text)[0]) &&
		!p.textual(m.groups["lit"][0], m.groups["lit"][1]) {
		return false
	}
	p.q.set(lines)
	return p.with([]textFilter{{text: text}}, false)
}

// readAsk is for "does app.log contain X".
func readAsk(p *parser, m *match) bool {
	if !readWith(p, m) {
		return false
	}
	p.q.asked = true
	return true
}

// readTimes is for "how many times does X appear".
func readTimes(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 0 || any {
		return false
	}
	m.to = end
	p.q.set(count | times)
	return p.with(list, any)
}

func readOccurrences(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 0 || any {
		return false
	}
	m.to = end
	p.q.set(times)
	return p.with(list, any)
}

// readWhether is for "does X appear": yes, so many times.
func readWhether(p *parser, m *match) bool {
	g := m.groups["lit"]
	if word := m.folded("lit"); p.at(g[0]) != quoteMark && !p.textual(g[0], g[1]) || englishFiller(word) {
		return false
	}
	p.q.asked = true
	p.q.set(count)
	return p.with([]textFilter{{text: m.text("lit")}}, false)
}

// readFind is for "find X": a quoted text, or words that are not known to mean
// something else.
func readFind(p *parser, m *match) bool {
	at := p.skipSpace(m.to)
	if word, end := p.wordAt(at); end == at || englishFiller(word) || word == string(hole) {
		return false
	}
	list, any, end := p.readTexts(m.to)
	if len(list) == 1 {
		list[0] = list[0].anchored()
	}
	if len(list) == 0 || !p.with(list, any) {
		return false
	}
	m.to = end
	p.q.set(find)
	return true
}

// textual reports whether some cells can only be meant as a text: they have a
// capital beyond the first letter, a digit, or a character that words do not
// have.
func (l *requestText) textual(from, to int) bool {
	first := true
	for _, r := range l.original(from, to) {
		if unicode.IsUpper(r) && !first || unicode.IsDigit(r) || strings.ContainsRune("_/\\@#%&*+=<>[]{}$^~|:.", r) {
			return true
		}
		first = false
	}
	return false
}

// shouted reports whether a word is in capitals where the others are not: IT is
// not it.
func (l *requestText) shouted(from, to int) bool {
	return to-from > 1 && l.caps(from, to) && !l.caps(0, len(l.cells)) && !kindsOfFile(l.folded(from, to))
}

var kindsOfFile = wordSet("csv json tsv stdin ok all")

// englishRest lists the words that no rule took and that are not filler.
func englishRest(l *requestText) (list []unknownWords) {
	for i := 0; i < len(l.cells); {
		word, end := l.wordAt(i)
		bare := strings.Trim(word, "'-:….*")
		if r := l.cells[i].r; r != hole && r != fileMark && end > i && bare != "" &&
			(!englishFiller(bare) || l.shouted(i, end)) {
			list = l.addScrap(list, i, end)
		}
		i = max(end, i+1)
	}
	return list
}
