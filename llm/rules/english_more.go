package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// readOnlyHere is for requests to change something.
func readOnlyHere(p *parser, m *match) bool {
	rest := m.folded("end")
	always := wordSet("delete erase edit rename overwrite insert append modify save replace change")(m.folded("verb"))
	if countsAsQuestion.Get().MatchString(rest) || !always && !changesFile.Get().MatchString(m.folded("verb")+" "+rest) &&
		!strings.ContainsRune(rest, fileMark) {
		return false
	}
	p.q.unclear = p.q.onlyReads()
	return true
}

var (
	countsAsQuestion = lazyregexp.New(`^(?:up|together|all)\b|\bduplicat|\bvalues\b|\bnumbers\b|\bblank|\bempty`)
	changesFile      = lazyregexp.New(
		`\b(?:lines?|rows?|columns?|files?|records?|entries|log|everything|words?|header|[a-z]+ with [a-z]+)\b`)
)

func (q *query) onlyReads() string {
	return q.say("I can only read files, not change them. ", "ファイルを読むことしかできません。書き換えや削除はできません。") + "\n\n" + q.ability()
}

// readDigits is for "lines with numbers".
func readDigits(p *parser, _ *match) bool {
	p.q.set(lines)
	return p.with([]textFilter{{text: "[0-9]", regex: true}}, false)
}

// bottomN is for "bottom 3 by salary". The bottom 3 lines are the last ones.
func bottomN(p *parser, m *match) bool {
	if word, _ := p.wordAt(p.skipSpace(m.to)); lineNouns(word) && !strings.Contains(strings.ToLower(p.src), " by ") ||
		p.skipSpace(m.to) >= len(p.cells) {
		return false
	}
	p.q.set(ascending | top)
	return topN(p, m)
}

var lineNouns = wordSet("line lines row rows record records entry entries")

// whereEmpty notes a condition on what is not there.
func whereEmpty(p *parser, m *match) bool {
	c := condition{op: "empty", field: fieldRef{name: m.text("field")}}
	if m.has("not") {
		c.op = "filled"
	}
	if n := p.numbers(m, "field"); len(n) == 1 && n[0] > 0 {
		c.field = fieldRef{number: n[0]}
	}
	switch normal(c.field.name) {
	case "line", "row", "record", "it", "field", "value", "cell", "lines", "rows":
		return false
	}
	if strings.HasPrefix(p.folded(m.from, m.to), "without") || p.holds(m.groups["field"], englishStops) ||
		p.q.ground == nil {
		return false
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching)
	return true
}

var clock = lazyregexp.New(`^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?$`)

// timeSpan notes times of day. The last one belongs to the span, all of its second
// or minute, unless a word leaves it out.
func timeSpan(p *parser, m *match) bool {
	if p.q.time != [2]string{} {
		return false
	}
	for i, g := range []string{"a", "b"} {
		if !m.has(g) {
			continue
		}
		text := m.text(g)
		if !clock.Get().MatchString(text) {
			return false
		}
		if len(text) == 4 || len(text) == 7 {
			text = "0" + text
		}
		p.q.time[i] = text
	}
	p.q.through = !m.has("without")
	p.q.set(timed)
	return true
}

// oldestOne is for "the oldest person": a column says the age.
func oldestOne(p *parser, m *match) bool {
	at := p.q.ground.named("age")
	if at < 0 {
		at = p.q.ground.named("年齢")
	}
	if at < 0 || p.q.some(grouped|totals) {
		return false
	}
	young := m.folded("dir") == "youngest" || strings.Contains(m.folded("dir"), "若") ||
		strings.Contains(m.folded("dir"), "年少")
	return p.rowWithMost(fieldRef{name: p.q.ground.header[at]}, !young)
}

// rowWithMost asks for the row with the largest or smallest value.
func (p *parser) rowWithMost(by fieldRef, large bool) bool {
	p.q.by = by
	p.q.set(grouped | sorted | amount | map[bool]feature{true: descending, false: ascending}[large])
	return p.q.number(1)
}

// boughtMost is for "which customer bought the most": the sum of the one column
// that says how many.
func boughtMost(p *parser, m *match) bool {
	who := m.text("who")
	if who == "" {
		who = m.text("who2")
	}
	if p.q.ground == nil || p.q.some(grouped|totals) || p.q.ground.named(who) < 0 {
		return false
	}
	what := p.q.ground.quantity()
	if what == "" {
		return false
	}
	p.q.by = fieldRef{name: p.q.ground.header[p.q.ground.named(who)]}
	p.q.addField(fieldRef{name: what})
	p.addTotal("sum")
	p.q.set(grouped | totals | sorted | descending)
	return p.q.number(1)
}

// quantity is the one column that says how many; empty means that there is not
// exactly one.
func (g *tableWords) quantity() (name string) {
	for _, h := range g.header {
		if slices.Contains([]string{"quantity", "qty", "units", "個数", "数量", "販売数", "販売数量"}, normal(h)) {
			if name != "" {
				return ""
			}
			name = h
		}
	}
	return name
}

// dateEnd is for "the latest date".
func dateEnd(p *parser, m *match) bool {
	if p.q.ground == nil || p.q.some(totals|field) {
		return false
	}
	at := p.q.ground.named(m.text("field"))
	if at < 0 {
		return false
	}
	p.q.addField(fieldRef{name: p.q.ground.header[at]})
	large := m.folded("dir") != "earliest" && m.folded("dir") != "最古" && m.folded("dir") != "最も古い" &&
		m.folded("dir") != "一番古い"
	p.addTotal(map[bool]string{true: "max", false: "min"}[large])
	p.q.set(totals)
	return true
}

// readWordIn is for "is cat in the file".
func readWordIn(p *parser, m *match) bool {
	word := m.folded("lit")
	if p.at(m.groups["lit"][0]) != quoteMark && (englishFiller(word) || englishHazards(word) || levelNames[word] != "" ||
		len(word) < 2) {
		return false
	}
	m.to = m.groups["end"][0]
	p.q.asked = true
	p.q.set(count)
	if p.at(m.groups["lit"][0]) != quoteMark && isASCII(word) {
		p.q.set(wholeWord | anyCase)
	}
	return p.with([]textFilter{{text: m.text("lit")}}, false)
}

// readThere is for "is there a timeout".
func readThere(p *parser, m *match) bool {
	word := m.folded("lit")
	if levelNames[word] != "" || englishFiller(word) || englishHazards(word) || questionWords(word) ||
		p.q.about(hasFields) || lineNouns(word) || notTexts(word) {
		return false
	}
	m.to = m.groups["end"][0]
	p.q.asked = true
	p.q.set(count | anyCase)
	text := m.text("lit")
	if len(text) > 3 && !strings.HasSuffix(text, "ss") {
		text = strings.TrimSuffix(text, "s") // timeouts: each is a timeout
	}
	return p.with([]textFilter{{text: text}}, false)
}

var notTexts = wordSet("duplicate duplicates problem problems issue issues pattern patterns reason new header column columns file message messages difference differences bug way")

// twoLevels is for "errors or warnings".
func twoLevels(p *parser, m *match) bool {
	a, b := levelNames[m.folded("a")], levelNames[m.folded("b")]
	if a == b || p.q.level != "" {
		return false
	}
	p.q.level = "ERROR or WARN"
	p.q.set(level)
	return true
}

// notLevel is for "everything but errors".
func notLevel(p *parser, m *match) bool {
	if p.q.level != "" {
		return false
	}
	p.q.level, p.q.lacks = levelNames[m.folded("level")], true
	p.q.set(level)
	return p.q.level != ""
}

// statusCode is for "404s", of the log of a web server.
func statusCode(p *parser, m *match) bool {
	code := m.folded("code")
	if m.has("n") {
		if n, ok := m.count("n"); ok && n >= 100 && n < 600 {
			code = itoa(n)
		}
	}
	if code == "" || p.q.status != "" || p.q.about(hasFields) {
		return false
	}
	p.q.status = code
	p.q.set(status | lines)
	return true
}

// readVerb is for "cat app.log": words that may as well be values elsewhere.
func readVerb(p *parser, m *match) bool {
	if end, ok := m.groups["end"]; ok {
		m.to = end[0]
	}
	p.q.set(show)
	return true
}

// mostRows is for "which city has the most orders": the rows are the orders.
func mostRows(p *parser, m *match) bool {
	noun := singular(m.folded("noun"))
	if p.q.ground == nil || p.q.some(grouped|totals|field) || p.q.ground.named(m.text("who")) < 0 ||
		p.q.ground.named(noun) >= 0 {
		return false
	}
	if noun != singular(normal(stem(p.q.ground.file))) && noun != "row" && noun != "record" && noun != "entry" {
		return false
	}
	p.q.addField(fieldRef{name: m.text("who")})
	p.q.often = true
	p.q.set(top)
	return true
}

// olderThan is for "older than 30", where a column says the age.
func olderThan(p *parser, m *match) bool {
	n, ok := m.count("val")
	at := p.q.ground.named("age")
	if !ok || at < 0 {
		return false
	}
	op := map[string]string{"older": ">", "younger": "<"}[m.folded("dir")]
	p.q.where = append(p.q.where, condition{field: fieldRef{name: p.q.ground.header[at]}, op: op, value: itoa(n),
		num: true})
	p.q.set(matching)
	return true
}

// statusError is for "500 errors"; 20 errors are a number of them.
func statusError(p *parser, m *match) bool {
	n, ok := m.count("n")
	return ok && n >= 400 && n < 600 && !p.q.some(head|tail|top) && statusCode(p, m)
}

// byValueOnly is for "orders by Alice", where Alice is no column.
func byValueOnly(p *parser, m *match) bool {
	m.to = m.groups["end"][0]
	return p.valueAt(m.groups["end"][1]-1) != nil
}

// unsure is for words that may mean two things.
func unsure(p *parser, m *match) bool {
	p.q.wrong = p.original(m.from, m.to)
	return true
}
