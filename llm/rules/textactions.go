package rules

import (
	"slices"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
)

// wordAt returns the folded word at cell i, and where it ends. A mark or a hole is a word of one cell.
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

// quoteAt reports whether a quoted text follows at cell i.
func (l *requestText) quoteAt(i int) bool { return l.at(l.skipSpace(i)) == quoteMark }

// readText reads one text to look for, from cell i: what is quoted, or words up to one that must mean something else.
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
			stops(word) && !(at == i && p.caps(at, next)) {
			break
		}
		if hazards(word) && !p.caps(at, next) && !(word == "not" && at > i) {
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

// readTexts reads texts joined by and, or, or commas. The end is where the last one ends.
func (p *parser) readTexts(i int) (list []textFilter, any bool, end int) {
	text, end, ok := p.readText(i)
	if !ok {
		return nil, false, i
	}
	list = append(list, textFilter{text: text})
	quoted := p.quoteAt(i)
	for {
		join, next := p.conjunction(end)
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

// conjunction reads what joins two texts: "and", "or" or a comma before another quoted text.
func (p *parser) conjunction(i int) (join string, end int) {
	at := p.skipSpace(i)
	comma := p.at(at) == ','
	if comma {
		at = p.skipSpace(at + 1)
	}
	word, next := p.wordAt(at)
	if word == "and" || word == "or" {
		at = p.skipSpace(next)
		if after, stop := p.wordAt(at); stop == at || after == string(hole) || stops(after) || hazards(after) ||
			fillers(after) && after != string(quoteMark) {
			return "", i
		}
		return word, at
	}
	if comma && word == string(quoteMark) {
		return "and", at
	}
	return "", i
}

// with adds texts that lines must have: all of them, or any.
func (p *parser) with(any bool, list ...textFilter) bool {
	if len(list) == 0 || len(p.q.with) > 0 && (any || p.q.anyText) || slices.ContainsFunc(list, textFilter.empty) {
		return false
	}
	p.q.with = append(p.q.with, list...)
	p.q.anyText = p.q.anyText || any
	p.q.set(include)
	return true
}

// without adds texts that lines must not have.
func (p *parser) without(list ...textFilter) bool {
	if len(list) == 0 || slices.ContainsFunc(list, textFilter.empty) {
		return false
	}
	p.q.without = append(p.q.without, list...)
	p.q.set(exclude)
	return true
}

// empty reports whether a text cannot be looked for: it is in all lines, or has a line break.
func (n textFilter) empty() bool { return n.text == "" || strings.ContainsAny(n.text, "\r\n") }

func readWith(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 1 && p.meansLevel(m.to, list[0].text) { // "lines containing errors"
		m.to = end
		p.setLevel(levelNames(strings.ToLower(list[0].text)))
		return true
	}
	m.to = max(m.to, end)
	if len(list) == 1 && !p.quoteAt(m.to) && !any {
		list[0] = list[0].anchored()
	}
	return p.with(any, list...)
}

// anchored reads ^The and dog$ as people mean them.
func (n textFilter) anchored() textFilter {
	start, hasStart := strings.CutPrefix(n.text, "^")
	inner, hasEnd := strings.CutSuffix(start, "$")
	switch {
	case !hasStart && !hasEnd || inner == "":
		return n
	case strings.ContainsAny(inner, regexChars):
		return textFilter{text: n.text, regex: true}
	}
	return textFilter{text: inner, starts: hasStart, ends: hasEnd}
}

// meansLevel reports whether a text without quotes at a cell speaks of lines of a level: errors, but not error.
func (p *parser) meansLevel(i int, text string) bool {
	text = strings.ToLower(text)
	return levelNames(text) != "" && strings.HasSuffix(text, "s") && !p.quoteAt(i) && p.q.level == ""
}

// readNeither is for "contain neither X nor Y".
func readNeither(p *parser, m *match) bool {
	return p.without(textFilter{text: m.text("lit")}, textFilter{text: m.text("lit2")})
}

// readLinesWith is for words that need not mean a text: a single one follows, or a quoted one.
func readLinesWith(p *parser, m *match) bool {
	text, _, ok := p.readText(m.to)
	if !ok || p.q.table.named(text) >= 0 || strings.Contains(text, " ") && !p.quoteAt(m.to) && p.q.about(hasFields) {
		return false // rows with region Tokyo
	}
	return readWith(p, m)
}

func readWithout(p *parser, m *match) bool {
	list, _, end := p.readTexts(m.to)
	if len(list) == 0 || p.meansLevel(m.to, list[0].text) {
		return false
	}
	// "excluding weekends" need not mean a text, unless texts are what it is about.
	explicit := explicitText.Get().MatchString(m.whole()) || p.quoteAt(m.to) || p.textual(p.skipSpace(m.to), end)
	for i := range list {
		list[i].loose = !explicit
	}
	m.to = max(m.to, end)
	return p.without(list...)
}

var (
	whereNot     = lazyregexp.New(`\b(?:where|whose|for which) .*\b(?:is|are|was) not `)
	explicitText = lazyregexp.New(
		`contain|includ|mention|match|\bword|\btext|\bstring|\bphrase|lines?\b|rows?\b|\bwith\b`)
)

func readWithoutQuoted(p *parser, m *match) bool {
	s, _ := p.view()
	return !whereNot.Get().MatchString(s) && p.without(textFilter{text: m.text("lit")}) // else a condition on a field
}

func readStart(p *parser, m *match) bool { return p.readEdge(m, textFilter{starts: true}) }
func readEnd(p *parser, m *match) bool   { return p.readEdge(m, textFilter{ends: true}) }

func (p *parser) readEdge(m *match, n textFilter) bool {
	var ok bool
	quoted := p.quoteAt(m.to)
	n.text, m.to, ok = p.readText(m.to)
	n.dot = ok && !quoted && n.ends && p.at(m.to) == '.' // it may end the sentence only
	return ok && p.with(false, n)
}

func readRegex(p *parser, m *match) bool {
	return p.with(false, textFilter{text: m.text("re"), regex: true})
}

// readDigits is for "lines with numbers".
func readDigits(p *parser, _ *match) bool {
	return p.with(false, textFilter{text: "[0-9]", regex: true})
}

// readLinesFor is for "rows for Tokyo": a name, by its capital.
func readLinesFor(p *parser, m *match) bool {
	text, g := m.text("lit"), m.groups["lit"]
	if m.mark("lit") != quoteMark && !unicode.IsUpper([]rune(text)[0]) && !p.textual(g[0], g[1]) {
		return false
	}
	return p.with(false, textFilter{text: text})
}

// readTimes is for "how many times does X appear" and "occurrences of X".
func readTimes(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 0 || any {
		return false
	}
	m.to = end
	return p.with(any, list...)
}

// readWhether is for "does X appear".
func readWhether(p *parser, m *match) bool {
	g := m.groups["lit"]
	if p.at(g[0]) != quoteMark && !p.textual(g[0], g[1]) || fillers(m.folded("lit")) {
		return false
	}
	return p.with(false, textFilter{text: m.text("lit")})
}

// readWordIn is for "is cat in the file".
func readWordIn(p *parser, m *match) bool {
	word, quoted := m.folded("lit"), p.at(m.groups["lit"][0]) == quoteMark
	if !quoted && (fillers(word) || hazards(word) || levelNames(word) != "" || len(word) < 2) {
		return false
	}
	yesNo(p, m)
	p.q.set(count)
	if !quoted && isASCII(word) {
		p.q.set(wholeWord | anyCase)
	}
	return p.with(false, textFilter{text: m.text("lit")})
}

// readThere is for "is there a timeout".
func readThere(p *parser, m *match) bool {
	word := m.folded("lit")
	if levelNames(word) != "" || fillers(word) || hazards(word) || questionWords(word) || p.q.about(hasFields) ||
		lineNouns(word) || noTexts(word) {
		return false
	}
	yesNo(p, m)
	p.q.set(count | anyCase)
	text := m.text("lit")
	if len(text) > 3 && !strings.HasSuffix(text, "ss") {
		text = strings.TrimSuffix(text, "s") // timeouts: each is a timeout
	}
	return p.with(false, textFilter{text: text})
}

// readFind is for "find X": a quoted text, or words that are not known to mean something else.
func readFind(p *parser, m *match) bool {
	at := p.skipSpace(m.to)
	if word, end := p.wordAt(at); end == at || fillers(word) || word == string(hole) {
		return false
	}
	list, any, end := p.readTexts(m.to)
	if len(list) == 1 {
		list[0] = list[0].anchored()
	}
	if !p.with(any, list...) {
		return false
	}
	m.to = end
	return true
}

// textual reports whether some cells can only be meant as a text: they have a capital beyond the first letter, a
// digit, or a character that words do not have.
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

// shouted reports whether a word is in capitals where the others are not: IT is not it.
func (l *requestText) shouted(from, to int) bool {
	return to-from > 1 && l.caps(from, to) && !l.caps(0, len(l.cells)) && !capitalWords(l.folded(from, to))
}

// englishRest lists the words that no rule consumed and that are no fillers.
func englishRest(l *requestText) (list []unknownWords) {
	for i := 0; i < len(l.cells); {
		word, end := l.wordAt(i)
		bare := strings.Trim(word, "'-:….*")
		if r := l.cells[i].r; r != hole && r != fileMark && end > i && bare != "" && (!fillers(bare) || l.shouted(i, end)) {
			list = l.addUnknown(list, i, end)
		}
		i = max(end, i+1)
	}
	return list
}

// literalIn is the text in a group of a Japanese rule, unless it is a word that means a level of a log.
func (p *parser) literalIn(m *match, name string) (text string, ok bool) {
	text = narrow(m.text(name))
	switch m.mark(name) {
	case quoteMark, dateMark, numberMark:
		text = m.text(name)
		return text, text != ""
	}
	if levelNames(text) != "" && !isWord(rune(strings.ToLower(text)[0])) {
		return "", false
	}
	return text, text != "" && !japaneseNouns(text) && !japaneseKinds(text) && !looksLikeFile(text)
}

// literal is for a text that lines must have, in Japanese.
func literal(p *parser, m *match) bool      { return p.withLiteral(m, textFilter{}) }
func literalStart(p *parser, m *match) bool { return p.withLiteral(m, textFilter{starts: true}) }
func literalEnd(p *parser, m *match) bool   { return p.withLiteral(m, textFilter{ends: true}) }

func (p *parser) withLiteral(m *match, n textFilter) (ok bool) {
	n.text, ok = p.literalIn(m, "lit")
	return ok && p.with(false, n)
}

// literalOrLevel is for a text that may mean a level without quotes.
func literalOrLevel(p *parser, m *match) bool {
	if _, ok := p.literalIn(m, "lit"); ok {
		return literal(p, m)
	}
	known := levelNames(m.folded("lit"))
	if known == "" || m.mark("lit") != 0 || p.q.level != "" {
		return false
	}
	p.setLevel(known)
	return true
}

// withKanaJa is for a text in kana: only if nothing in it can be a word of its own.
func withKanaJa(p *parser, m *match) bool {
	for _, word := range []string{"から", "うち", "の", "で", "を", "行", "が"} {
		if strings.Contains(m.folded("lit"), word) {
			return false
		}
	}
	return literalOrLevel(p, m)
}

// inTable is for 東京の行 in a table, where words are values.
func inTable(p *parser, _ *match) bool { return p.q.about(isTable) }

// askText is for 東京はある？ of a text; in a table it may be a column.
func askText(p *parser, m *match) bool {
	return !p.q.about(hasFields) && knownForm(m.text("lit")) == ""
}

// countable is for Xは何件: lines with X, unless it is about JSON, where X may be a list.
func countable(p *parser, m *match) bool {
	return !p.quantityAsked(m) && (m.mark("lit") != 0 || !p.q.about(isJSON) && knownForm(m.text("lit")) == "")
}

// withoutJa is for 週末を除いて too, which need not mean a text.
func withoutJa(p *parser, m *match) bool {
	text, ok := p.literalIn(m, "lit")
	loose := m.mark("lit") == 0 && !isASCII(text) && !strings.Contains(m.whole(), "含")
	return ok && p.without(textFilter{text: text, loose: loose})
}

// twoLiterals are the texts of a rule that has two.
func (p *parser) twoLiterals(m *match) []textFilter {
	a, ok := p.literalIn(m, "lit")
	b, ok2 := p.literalIn(m, "lit2")
	if !ok || !ok2 {
		return nil
	}
	return []textFilter{{text: a}, {text: b}}
}

// bothJa is for AとBを含む and AかBを含む. ERRORとWARNの行 are lines of both kinds.
func bothJa(p *parser, m *match) bool {
	any := m.has("or") || m.has("end") && m.folded("and") != "かつ"
	return p.with(any, p.twoLiterals(m)...)
}

// neitherJa is for AとB以外.
func neitherJa(p *parser, m *match) bool { return p.without(p.twoLiterals(m)...) }

// eitherListJa is for INFO、WARN、ERRORの件数.
func eitherListJa(p *parser, m *match) bool {
	var list []textFilter
	for _, text := range strings.FieldsFunc(m.text("list"),
		func(r rune) bool { return strings.ContainsRune("、,と・/ ", r) }) {
		list = append(list, textFilter{text: narrow(text)})
	}
	return len(list) > 1 && p.with(true, list...)
}
