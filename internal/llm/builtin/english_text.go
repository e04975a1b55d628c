package builtin

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Words that end a text written without quotes.
var englishStops = wordSet(`in from within across but and or without excluding except sorted ordered ranked ignoring regardless
	please appear appears occur occurs are is was were do does did there then that which who where when for by per each every only using
	again also instead anywhere somewhere have has had inside into show list count print display sort find`)

// Words that change what is meant: a text without quotes that has one of them
// is not taken for a text.
var englishHazards = wordSet(`yesterday today tomorrow tonight hour hours day days week weeks month months year years minute minutes second seconds
	last first next before after since until between more less than most least recent latest oldest newest other others same different
	longer shorter larger smaller many few both either neither average sum total all any none not no if unless`)

// Words that can stand before a field and are not its name.
var englishDeterminers = wordSet(`the all of a an each every its their my our these those this that any some for to in on at by from with and or
	what which show me give get list print display extract select count sort average sum top first last most unique distinct is are was were be
	per total how many number over up please whose where when find out only values value`)

// englishFiller are the words that say nothing by themselves.
var englishFiller = wordSet(`a an the of in on at to for from with and is are was were be been do does did has have had there here it its it's
	this that these those them they i i'd i'm i've me my we us our you your please kindly can could would will should may might want need like
	know tell say let let's give make me find what what's whats which how hey hi hello thanks thank ok okay so just only now then
	file files log logs data text document input all any some out up off value values exactly exact actually really simply quickly
	overall altogether appear appears appearing occur occurs occurring show shows exist exists found present as inside within into
	line lines row rows one ones result results answer output number numbers column table csv json tsv stdin sure`)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// wordAt returns the word at cell i, folded, and where it ends. A mark or a
// hole is a word of one cell.
func (l *line) wordAt(i int) (word string, end int) {
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

func (l *line) skipSpace(i int) int {
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
		if next == at || word == string(hole) || word == string(quoteMark) || word == string(fileMark) || englishStops[word] && !(at == i && p.caps(at, next)) {
			break
		}
		if englishHazards[word] && !p.caps(at, next) && !(word == "not" && at > i) {
			return "", i, false
		}
		end = next
		at = p.skipSpace(next)
	}
	text = strings.TrimSpace(p.original(i, end))
	return text, end, text != ""
}

// caps reports whether some cells are written in capitals.
func (l *line) caps(from, to int) bool {
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
func (p *parser) readTexts(i int) (list []needle, any bool, end int) {
	text, end, ok := p.readText(i)
	if !ok {
		return nil, false, i
	}
	list = append(list, needle{text: text})
	for {
		join, next := p.joint(end)
		if join == "" {
			return list, any, end
		}
		text, stop, ok := p.readText(next)
		if !ok || join == "or" && len(list) > 1 && !any || join == "and" && any {
			return list, any, end
		}
		any = any || join == "or"
		list, end = append(list, needle{text: text}), stop
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
		if after, stop := p.wordAt(at); stop == at || after == string(hole) || englishStops[after] || englishHazards[after] || englishFiller[after] && after != string(quoteMark) {
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
func (p *parser) with(list []needle, any bool) bool {
	if len(list) == 0 || len(p.q.with) > 0 && (any || p.q.any) {
		return false
	}
	p.q.with = append(p.q.with, list...)
	p.q.any = p.q.any || any
	p.q.set(include)
	return true
}

// without notes texts that lines must not have.
func (p *parser) without(list []needle) bool {
	p.q.but = append(p.q.but, list...)
	p.q.set(exclude)
	return len(list) > 0
}

func readWith(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	m.to = max(m.to, end)
	return p.with(list, any)
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
	p.q.set(lines)
	return readWith(p, m)
}

func readWithout(p *parser, m *match) bool {
	list, _, end := p.readTexts(m.to)
	if len(list) == 0 {
		return false
	}
	// "excluding weekends" need not mean a text, unless texts are what it is
	// about.
	explicit := explicitText.MatchString(p.folded(m.from, m.to)) || p.at(p.skipSpace(m.to)) == quoteMark || p.textual(p.skipSpace(m.to), end)
	for i := range list {
		list[i].loose = !explicit
	}
	m.to = max(m.to, end)
	return p.without(list)
}

var explicitText = regexp.MustCompile(`contain|includ|mention|match|\bword|\btext|\bstring|\bphrase|lines?\b|rows?\b|\bwith\b`)

func readWithoutQuoted(p *parser, m *match) bool {
	return p.without([]needle{{text: m.text("lit")}})
}

func readStart(p *parser, m *match) bool { return p.readEdge(m, needle{starts: true}) }
func readEnd(p *parser, m *match) bool   { return p.readEdge(m, needle{ends: true}) }

func (p *parser) readEdge(m *match, n needle) bool {
	var ok bool
	n.text, m.to, ok = p.readText(m.to)
	return ok && p.with([]needle{n}, false)
}

func readRegex(p *parser, m *match) bool {
	return p.with([]needle{{text: m.text("re"), regex: true}}, false)
}

// readTimes is for "how many times does X appear".
func readTimes(p *parser, m *match) bool {
	list, any, end := p.readTexts(m.to)
	if len(list) == 0 || any {
		return false
	}
	p.q.words = m.has("word")
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
	if word := m.folded("lit"); p.at(g[0]) != quoteMark && !p.textual(g[0], g[1]) || englishFiller[word] {
		return false
	}
	p.q.asked = true
	p.q.set(count)
	return p.with([]needle{{text: m.text("lit")}}, false)
}

// readFind is for "find X": a quoted text, or words that are not known to mean
// something else.
func readFind(p *parser, m *match) bool {
	at := p.skipSpace(m.to)
	if word, end := p.wordAt(at); end == at || englishFiller[word] || word == string(hole) {
		return false
	}
	list, any, end := p.readTexts(m.to)
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
func (l *line) textual(from, to int) bool {
	first := true
	for _, r := range l.original(from, to) {
		if unicode.IsUpper(r) && !first || unicode.IsDigit(r) || strings.ContainsRune("_/\\@#%&*+=<>[]{}$^~|:.", r) {
			return true
		}
		first = false
	}
	return false
}

// readField reads the name of a field from cell i.
func (p *parser) readField(i int) (f fieldRef, end int, ok bool) {
	at := p.skipSpace(i)
	for {
		word, next := p.wordAt(at)
		if next == at || !fieldLeads[word] {
			break
		}
		at = p.skipSpace(next)
	}
	switch p.at(at) {
	case quoteMark:
		return fieldRef{name: p.meant(at, at+1)}, p.afterField(at + 1), true
	case pathMark:
		return fieldRef{name: p.meant(at, at+1), path: true}, p.afterField(at + 1), true
	}
	from, end := at, at
	for n := 0; n < 3; n++ {
		word, next := p.wordAt(at)
		if next == at || isAtom([]rune(word)[0]) || word == string(hole) || fieldStops[word] || fieldNouns[word] && (n > 0 || word != "amount" && word != "key" && word != "property") {
			break
		}
		end = next
		at = p.skipSpace(next)
	}
	name := strings.TrimSpace(p.original(from, end))
	return fieldRef{name: strings.TrimSuffix(name, "'s"), guess: true}, p.afterField(end), name != "" && !looksLikeFile(name)
}

// fieldLeads may stand before the name of a field.
var fieldLeads = wordSet("the all of a an its their my these those this that any for in values value column field each every")

// fieldStops end the name of a field.
var fieldStops = wordSet(`in from within across but and or without excluding except sorted ordered ranked ignoring please are is was were do does there then
	that which who where when for by per each every only using of to on at with over under the a an show list print display as into if`)

var fieldNouns = wordSet("column columns field fields key keys value values property number numbers amount")

// afterField skips the word that says what a name is.
func (p *parser) afterField(i int) int {
	at := p.skipSpace(i)
	if word, end := p.wordAt(at); fieldNouns[word] {
		return end
	}
	return i
}

// fieldAfter makes a rule for a field that follows. With grouped, it is what to
// group, rank or sort by.
func fieldAfter(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		ref, end, ok := p.readField(m.to)
		if !ok && f == grouped && p.at(p.skipSpace(m.to)) == hole && p.q.is(field) && len(p.q.fields) > 0 {
			ref, ok, end = p.q.fields[len(p.q.fields)-1], true, m.to // "by column 3": noted as a field already
			p.q.fields = p.q.fields[:len(p.q.fields)-1]
			if len(p.q.fields) == 0 {
				p.q.has &^= field
			}
		}
		if !ok || f == grouped && p.q.is(grouped) {
			return false
		}
		m.to = end
		if f == grouped {
			p.q.by = ref
			p.q.set(grouped)
			return true
		}
		p.q.addField(ref)
		return true
	}
}

// columnNamed is for "column price".
func columnNamed(p *parser, m *match) bool {
	name := m.folded("name")
	if m.mark("name") == 0 && (englishStops[name] || englishDeterminers[name] || englishFiller[name]) {
		return false
	}
	p.q.addField(fieldRef{name: m.text("name")})
	return true
}

// columnBefore is for "the unit price column": the words right before it that
// can be a name.
func columnBefore(p *parser, m *match) bool {
	g := m.groups["name"]
	if m.mark("name") != 0 {
		p.q.addField(fieldRef{name: m.text("name")})
		return true
	}
	from := g[1]
	for i := g[0]; i < g[1]; {
		word, end := p.wordAt(i)
		if englishDeterminers[word] || englishStops[word] || englishFiller[word] && word != "log" {
			from = g[1]
		} else if from == g[1] {
			from = i
		}
		i = p.skipSpace(max(end, i+1))
	}
	if from >= g[1] {
		return false
	}
	m.from = from
	p.q.addField(fieldRef{name: p.meant(from, g[1])})
	return true
}

// aggregates are the names of what can be calculated.
var aggregates = map[string]string{
	"sum": "sum", "total": "sum", "average": "average", "mean": "average", "avg": "average", "median": "median",
	"minimum": "min", "min": "min", "lowest": "min", "smallest": "min",
	"maximum": "max", "max": "max", "highest": "max", "largest": "max", "biggest": "max", "greatest": "max",
	"add": "sum", "adding": "sum", "summing": "sum", "summed": "sum", "averaged": "average", "averaging": "average",
	"totalled": "sum", "totaled": "sum", "totalling": "sum", "totaling": "sum",
	"合計": "sum", "総計": "sum", "総和": "sum", "総額": "sum", "総数": "sum", "平均": "average", "中央値": "median",
	"最大": "max", "最高": "max", "最小": "min", "最低": "min",
}

// totalOf notes what to calculate, and of which field if that follows.
func totalOf(p *parser, m *match) bool {
	groups := []string{"agg", "agg2", "agg3"}
	if !m.has("agg") {
		word, _ := p.wordAt(m.from)
		p.addTotal(aggregates[word])
	}
	for _, g := range groups {
		if m.has(g) {
			p.addTotal(aggregates[m.folded(g)])
		}
	}
	p.q.set(totals)
	if p.q.is(field) {
		return true
	}
	if ref, end, ok := p.readField(m.to); ok {
		m.to = end
		p.q.addField(ref)
	}
	return true
}

func (p *parser) addTotal(name string) {
	if name != "" && !slices.Contains(p.q.totals, name) {
		p.q.totals = append(p.q.totals, name)
	}
}

// comparisons are the operators by any of their names.
var comparisons = map[string]string{
	">=": ">=", "greater than or equal to": ">=", "at least": ">=", "no less than": ">=",
	"<=": "<=", "less than or equal to": "<=", "at most": "<=", "no more than": "<=",
	">": ">", "greater than": ">", "more than": ">", "larger than": ">", "bigger than": ">", "higher than": ">", "above": ">", "over": ">", "exceeds": ">", "exceeding": ">",
	"<": "<", "less than": "<", "fewer than": "<", "smaller than": "<", "lower than": "<", "below": "<", "under": "<",
	"==": "==", "=": "==", "equal to": "==", "equals": "==", "is": "==", "are": "==", "was": "==", "!=": "!=", "is not": "!=", "isn't": "!=",
	"以上": ">=", "以下": "<=", "未満": "<", "超": ">",
}

// whereField notes a condition.
func whereField(p *parser, m *match) bool {
	c := condition{op: comparisons[m.folded("op")], value: m.text("val"), num: m.mark("val") == numberMark}
	if c.num {
		c.value = strings.ReplaceAll(string(foldedRunes(c.value)), ",", "")
	}
	g := m.groups["field"]
	if n := p.numbers(m, "field"); len(n) == 1 && n[0] > 0 {
		c.field.number = n[0]
	} else {
		c.field.name = m.text("field")
	}
	word := m.folded("val")
	if c.op == "" || m.mark("val") == 0 && (englishStops[word] || englishDeterminers[word]) || p.holds(g, englishStops) {
		return false
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching)
	return true
}

// holds reports whether one of the words in some cells is in a set.
func (l *line) holds(g [2]int, set map[string]bool) bool {
	for i := g[0]; i < g[1]; {
		word, end := l.wordAt(i)
		if set[word] {
			return true
		}
		i = l.skipSpace(max(end, i+1))
	}
	return false
}

// englishRest lists the words that no rule took and that are not filler.
func englishRest(l *line) (list []scrap) {
	for i := 0; i < len(l.cells); {
		word, end := l.wordAt(i)
		bare := strings.Trim(word, "'-:….*")
		if r := l.cells[i].r; r != hole && r != fileMark && end > i && bare != "" && !englishFiller[bare] {
			list = l.addScrap(list, i, end)
		}
		i = max(end, i+1)
	}
	return list
}
