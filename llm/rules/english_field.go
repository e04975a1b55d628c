package rules

import (
	"slices"
	"strings"
)

// readField reads the name of a field from cell i.
func (p *parser) readField(i int) (f fieldRef, end int, ok bool) {
	at := p.skipSpace(i)
	for {
		word, next := p.wordAt(at)
		if next == at || !fieldLeads(word) {
			break
		}
		at = p.skipSpace(next)
	}
	switch p.at(at) {
	case quoteMark:
		return fieldRef{name: p.meant(at, at+1)}, p.afterField(at + 1), p.valueAt(at) == nil
	case pathMark:
		return fieldRef{name: p.meant(at, at+1), path: true}, p.afterField(at + 1), true
	}
	from, end := at, at
	if word, _ := p.wordAt(at); aggregates[word] != "" {
		return f, i, false
	}
	for n := 0; n < 3; n++ {
		word, next := p.wordAt(at)
		if next == at || isAtom([]rune(word)[0]) || word == string(hole) || fieldStops(word) || fieldNouns(word) &&
			(n > 0 || word != "amount" && word != "key" && word != "property") {
			break
		}
		end = next
		at = p.skipSpace(next)
	}
	name := strings.TrimSpace(p.original(from, end))
	return fieldRef{name: strings.TrimSuffix(name, "'s"), guess: true}, p.afterField(end), name != "" &&
		!looksLikeFile(name)
}

// fieldLeads may stand before the name of a field.
var fieldLeads = wordSet(
	"the all of a an its their my these those this that any for in values value column field each every")

// fieldStops end the name of a field.
var fieldStops = wordSet(
	`in from within across but and or without excluding except sorted ordered ranked ignoring please are is was were do does there then
	that which who where when for by per each every only using of to on at with over under the a an show list print display as into if
	grouped group descending ascending order alphabetically numerically reverse reversed first last desc asc has have had`)

var fieldNouns = wordSet("column columns field fields key keys value values property number numbers amount")

// afterField skips the word that says what a name is.
func (p *parser) afterField(i int) int {
	at := p.skipSpace(i)
	if word, end := p.wordAt(at); fieldNouns(word) {
		return end
	}
	return i
}

// fieldAfter makes a rule for a field that follows. With grouped, it is what to
// group, rank or sort by.
func fieldAfter(f feature) func(*parser, *match) bool {
	return func(p *parser, m *match) bool {
		ref, end, ok := p.readField(m.to)
		if !ok || f == grouped && p.q.is(grouped) {
			return false
		}
		m.to = end
		if f == grouped {
			p.groupBy(ref)
			return true
		}
		p.q.addField(ref)
		return true
	}
}

// groupBy notes what to group, rank or sort by. The message of a log is none of
// its fields.
func (p *parser) groupBy(ref fieldRef) {
	if singular(normal(ref.name)) == "message" && !p.q.about(hasFields) {
		p.q.set(freq | messages)
		return
	}
	p.q.by = ref
	p.q.set(grouped)
}

// whoHasMost is for "which region has the highest total quantity": groups, or
// the row with the highest value.
func whoHasMost(p *parser, m *match) bool {
	ref, end, ok := p.readField(m.to)
	if m.has("verb") && p.q.ground == nil {
		return false // who has the most luck
	}
	if !ok || p.q.some(grouped|totals) {
		return false
	}
	m.to = end
	p.q.number(1)
	p.q.set(grouped | sorted)
	if strings.HasPrefix(m.folded("dir"), "low") || m.folded("dir") == "smallest" || m.folded("dir") == "least" {
		p.q.set(ascending)
	} else {
		p.q.set(descending)
	}
	if !m.has("agg") {
		p.q.by = ref
		p.q.set(amount)
		return true
	}
	p.addTotal(aggregates[m.folded("agg")])
	p.q.by = fieldRef{name: m.text("who"), guess: true}
	p.q.addField(ref)
	p.q.set(totals)
	return true
}

// columnNamed is for "column price", and for "columns price and date".
func columnNamed(p *parser, m *match) bool {
	if !p.columnName(m.groups["name"][0], m.groups["name"][1]) {
		return false
	}
	for strings.HasPrefix(p.folded(m.from, m.to), "columns") || strings.HasPrefix(p.folded(m.from, m.to), "fields") {
		at := p.skipSpace(m.to)
		if p.at(at) == ',' {
			at = p.skipSpace(at + 1)
		}
		if word, end := p.wordAt(at); word == "and" {
			at = p.skipSpace(end)
		}
		if at == p.skipSpace(m.to) {
			break
		}
		_, end := p.wordAt(at)
		if end == at || !p.columnName(at, end) {
			break
		}
		m.to = end
	}
	return true
}

// columnName notes the name of a column in some cells.
func (p *parser) columnName(from, to int) bool {
	name := p.folded(from, to)
	if !isAtom(p.cells[from].r) && (englishStops(name) || englishDeterminers(name) || englishFiller(name)) ||
		p.cells[from].r == hole || p.cells[from].r == fileMark {
		return false
	}
	p.q.addField(fieldRef{name: p.meant(from, to)})
	return true
}

// columnBefore is for "the unit price column": the words right before it that
// can be a name.
func columnBefore(p *parser, m *match) bool {
	g := m.groups["name"]
	if p.valueAt(g[0]) != nil {
		return false
	}
	if m.mark("name") != 0 {
		p.q.addField(fieldRef{name: m.text("name")})
		return true
	}
	if noun, _ := p.wordAt(p.skipSpace(g[1])); strings.HasSuffix(noun, "s") && noun != "values" && p.columnList(m, g) {
		return true
	}
	from := g[1]
	for i := g[0]; i < g[1]; {
		word, end := p.wordAt(i)
		if englishDeterminers(word) || englishStops(word) || englishFiller(word) && word != "log" {
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

// columnList is for "product and region columns": several names of one word.
func (p *parser) columnList(m *match, g [2]int) bool {
	var names []string
	from := 0
	for i := g[0]; i < g[1]; {
		word, end := p.wordAt(i)
		switch {
		case word == "and" && len(names) > 0:
		case englishDeterminers(word) || englishStops(word) || englishFiller(word):
			names = nil
		default:
			if len(names) == 0 {
				from = i
			}
			names = append(names, p.meant(i, end))
		}
		i = p.skipSpace(max(end, i+1))
	}
	if len(names) < 2 || !strings.Contains(p.folded(from, g[1]), " and ") {
		return false
	}
	for _, name := range names {
		p.q.addField(fieldRef{name: name})
	}
	m.from = from
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
	groups := []string{"agg", "agg2", "agg3", "agg4"}
	if !m.has("agg") {
		word, _ := p.wordAt(m.from)
		p.addTotal(aggregates[word])
	}
	if end, ok := m.groups["end"]; ok {
		m.to = end[0]
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
	">": ">", "greater than": ">", "more than": ">", "larger than": ">", "bigger than": ">", "higher than": ">",
	"above": ">", "over": ">", "exceeds": ">", "exceeding": ">",
	"<": "<", "less than": "<", "fewer than": "<", "smaller than": "<", "lower than": "<", "below": "<", "under": "<",
	"==": "==", "=": "==", "equal to": "==", "equals": "==", "is": "==", "are": "==", "was": "==", "!=": "!=",
	"is not": "!=", "isn't": "!=",
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
	if c.op == "" || m.mark("val") == 0 && (englishStops(word) || englishDeterminers(word)) || p.holds(g, englishStops) {
		return false
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching)
	return true
}

// holds reports whether one of the words in some cells is in a set.
func (l *requestText) holds(g [2]int, set func(word string) bool) bool {
	for i := g[0]; i < g[1]; {
		word, end := l.wordAt(i)
		if set(word) {
			return true
		}
		i = l.skipSpace(max(end, i+1))
	}
	return false
}
