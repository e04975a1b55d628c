package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
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
	if word, _ := p.wordAt(at); aggregates(word) != "" {
		return f, i, false
	}
	for n := range 3 {
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

// afterField skips the word that says what a name is.
func (p *parser) afterField(i int) int {
	if word, end := p.wordAt(p.skipSpace(i)); fieldNouns(word) {
		return end
	}
	return i
}

// fieldAfter is for a field that follows.
func fieldAfter(p *parser, m *match) bool {
	ref, end, ok := p.readField(m.to)
	if ok {
		m.to = end
		p.q.addField(ref)
	}
	return ok
}

// groupAfter is for what to group, rank or sort by. The message of a log is none of its fields.
func groupAfter(p *parser, m *match) bool {
	ref, end, ok := p.readField(m.to)
	if !ok || p.q.is(grouped) {
		return false
	}
	m.to = end
	if singular(normal(ref.name)) == "message" && !p.q.about(hasFields) {
		p.q.set(freq | messages)
		return true
	}
	return p.groupBy(ref, true)
}

// groupBy sets what to group, rank or sort by, once.
func (p *parser) groupBy(f fieldRef, ok bool) bool {
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped)
	return true
}

// byNumber is for the number of a column to group, rank or sort by.
func byNumber(p *parser, m *match) bool {
	n, ok := m.count("n")
	return p.groupBy(fieldRef{number: n}, ok)
}

// byTotal is for "by total price": what to calculate is known already.
func byTotal(p *parser, _ *match) bool { return p.q.is(totals | top) }

// byValueOnly is for "orders by Alice", where Alice is no column.
func byValueOnly(p *parser, m *match) bool { return p.valueAt(m.groups["end"][1]-1) != nil }

// columnNumbers is for columns by number.
func columnNumbers(p *parser, m *match) bool {
	list := m.counts("n", "more")
	if n, ok := m.count("n"); ok && n < 0 {
		list = []int{}
		p.q.addField(fieldRef{number: -1})
	}
	for _, n := range list {
		if n < 0 {
			return false
		}
		p.q.addField(fieldRef{number: n})
	}
	return list != nil
}

// fieldPath is for a path into JSON.
func fieldPath(p *parser, m *match) bool {
	p.q.addField(fieldRef{name: m.text("name"), path: true})
	return true
}

// columnNamed is for "column price", and for "columns price and date".
func columnNamed(p *parser, m *match) bool {
	if !p.columnName(m.groups["name"][0], m.groups["name"][1]) {
		return false
	}
	for strings.HasPrefix(m.whole(), "columns") || strings.HasPrefix(m.whole(), "fields") {
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

// columnName adds the name of a column in some cells.
func (p *parser) columnName(from, to int) bool {
	name := p.folded(from, to)
	if !isAtom(p.cells[from].r) && notInName(name) || p.cells[from].r == hole || p.cells[from].r == fileMark {
		return false
	}
	p.q.addField(fieldRef{name: p.meant(from, to)})
	return true
}

// notInName reports whether a word is no part of the name of a column.
func notInName(word string) bool { return stops(word) || determiners(word) || fillers(word) }

// columnBefore is for "the unit price column": the words right before it that can be a name.
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
		if notInName(word) && word != "log" {
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
		case notInName(word):
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

// totalOf is for what to calculate, and of which field if that follows.
func totalOf(p *parser, m *match) bool {
	if !m.has("agg") {
		word, _ := p.wordAt(m.from)
		p.addTotal(aggregates(word))
	}
	totalsJa(p, m)
	if !p.q.is(field) {
		fieldAfter(p, m)
	}
	return true
}

// totalsJa is for what to calculate.
func totalsJa(p *parser, m *match) bool {
	for _, g := range []string{"agg", "agg2", "agg3", "agg4"} {
		p.addTotal(aggregates(m.folded(g)))
	}
	p.q.set(totals)
	return true
}

func (p *parser) addTotal(name string) {
	if name != "" && !slices.Contains(p.q.totals, name) {
		p.q.totals = append(p.q.totals, name)
	}
}

// totalOfJa is for 単価の合計 and 個数を全部足すといくつ.
func totalOfJa(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "field")
	if !ok || p.q.is(totals) {
		return false
	}
	p.q.addField(f)
	return totalsJa(p, m)
}

// totalPrefixJa is for 平均単価.
func totalPrefixJa(p *parser, m *match) bool {
	return !noFieldsJa(m.folded("field")) && totalOfJa(p, m)
}

// order sets in which order, the largest first or last.
func (p *parser) order(large bool) {
	p.q.set(sorted)
	if large {
		p.q.set(descending)
	} else {
		p.q.set(ascending)
	}
}

// rowWithMost asks for the row with the largest or smallest value.
func (p *parser) rowWithMost(by fieldRef, large bool) bool {
	p.q.by = by
	p.order(large)
	p.q.set(grouped | amount)
	return p.q.number(1)
}

// extremeOf asks for the largest or smallest value of a field.
func (p *parser) extremeOf(f fieldRef, large bool) bool {
	p.q.addField(f)
	p.addTotal(map[bool]string{true: "max", false: "min"}[large])
	p.q.set(totals)
	return true
}

// column is the column of the table with one of some names.
func (p *parser) column(names ...string) (f fieldRef, ok bool) {
	for _, name := range names {
		if at := p.q.table.named(name); at >= 0 {
			return fieldRef{name: p.q.table.header[at]}, true
		}
	}
	return f, false
}

// whoHasMost is for "which region has the highest total quantity": groups, or the row with the highest value.
func whoHasMost(p *parser, m *match) bool {
	ref, end, ok := p.readField(m.to)
	if !ok || p.q.some(grouped|totals) || m.has("verb") && p.q.table == nil { // who has the most luck
		return false
	}
	m.to = end
	dir := m.folded("dir")
	large := !strings.HasPrefix(dir, "low") && dir != "smallest" && dir != "least"
	if !m.has("agg") {
		p.rowWithMost(ref, large)
		return true
	}
	p.q.number(1)
	p.order(large)
	p.addTotal(aggregates(m.folded("agg")))
	p.q.by = fieldRef{name: m.text("who"), guess: true}
	p.q.addField(ref)
	p.q.set(grouped | totals)
	return true
}

// oldestOne is for "the oldest person", 一番若い人 and 最年長: a column holds the age.
func oldestOne(p *parser, m *match) bool {
	age, ok := p.column("age", "年齢")
	if !ok || p.q.some(grouped|totals) {
		return false
	}
	dir := m.folded("dir")
	return p.rowWithMost(age, dir != "youngest" && !strings.Contains(dir, "若") && !strings.Contains(dir, "年少"))
}

// olderThan is for "older than 30", where a column holds the age.
func olderThan(p *parser, m *match) bool {
	n, ok := m.count("val")
	age, ok2 := p.column("age")
	op := map[string]string{"older": ">", "younger": "<"}[m.folded("dir")]
	return ok && ok2 && p.where(condition{field: age, op: op, value: itoa(n), num: true})
}

// boughtMost is for "which customer bought the most": the sum of the one column that holds the quantity.
func boughtMost(p *parser, m *match) bool {
	who, ok := p.column(m.text("who"))
	what := p.q.table.quantity()
	if !ok || what == "" || p.q.some(grouped|totals) {
		return false
	}
	p.q.by = who
	p.q.addField(fieldRef{name: what})
	p.addTotal("sum")
	p.q.set(grouped | totals | sorted | descending)
	return p.q.number(1)
}

// mostRows is for "which city has the most orders": the rows are the orders.
func mostRows(p *parser, m *match) bool {
	noun := singular(m.folded("noun"))
	if p.q.some(grouped|totals|field) || p.q.table.named(m.text("who")) < 0 || p.q.table.named(noun) >= 0 {
		return false
	}
	if noun != singular(normal(stem(p.q.table.file))) && noun != "row" && noun != "record" && noun != "entry" {
		return false
	}
	p.q.addField(fieldRef{name: m.text("who")})
	p.q.often = true
	return true
}

// dateEnd is for "the latest date".
func dateEnd(p *parser, m *match) bool {
	f, ok := p.column(m.text("field"))
	if !ok || p.q.some(totals|field) {
		return false
	}
	dir := m.folded("dir")
	return p.extremeOf(f, dir != "earliest" && !strings.Contains(dir, "古"))
}

// where adds a condition.
func (p *parser) where(c condition) bool {
	if c.num {
		c.value = strings.ReplaceAll(string(foldedRunes(c.value)), ",", "")
	}
	p.q.where = append(p.q.where, c)
	return true
}

// whereField is for a condition on a field.
func whereField(p *parser, m *match) bool {
	c := condition{op: comparisons(m.folded("op")), value: m.text("val"), num: m.mark("val") == numberMark,
		field: fieldOf(m)}
	word := m.folded("val")
	if c.op == "" || m.mark("val") == 0 && (stops(word) || determiners(word)) || p.holds(m.groups["field"], stops) {
		return false
	}
	return p.where(c)
}

// fieldOf is the field of an English condition: a number or a name.
func fieldOf(m *match) fieldRef {
	if n := m.counts("field"); len(n) == 1 && n[0] > 0 {
		return fieldRef{number: n[0]}
	}
	return fieldRef{name: m.text("field")}
}

// emptyCondition is the condition that a field is empty, or is not.
func emptyCondition(m *match, f fieldRef) condition {
	if m.has("not") {
		return condition{op: "filled", field: f}
	}
	return condition{op: "empty", field: f}
}

// whereEmpty is for "where the price is missing".
func whereEmpty(p *parser, m *match) bool {
	c := emptyCondition(m, fieldOf(m))
	if rowNouns(normal(c.field.name)) || strings.HasPrefix(m.whole(), "without") ||
		p.holds(m.groups["field"], stops) || p.q.table == nil {
		return false
	}
	return p.where(c)
}

// whereEmptyJa is for 単価が空の行.
func whereEmptyJa(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "field")
	return ok && p.q.table != nil && p.where(emptyCondition(m, f))
}

// anyEmpty is for 空欄はある？
func anyEmpty(p *parser, _ *match) bool { return p.q.table != nil && p.where(condition{op: "empty"}) }

// whereJa is for a condition on a field in Japanese.
func whereJa(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "field")
	c := condition{field: f, value: m.text("val"), num: m.mark("val") == numberMark, op: "=="}
	if m.has("op") {
		c.op = comparisons(m.folded("op"))
	}
	if !ok || m.mark("val") == 0 && (japaneseNouns(c.value) || comparing.Get().MatchString(c.value)) {
		return false
	}
	return p.where(c)
}

// comparing are words that a value cannot have.
var comparing = lazyregexp.New(`以上|以下|未満|以外|平均|最大|最小|合計|より`)

// fieldIn is the field in a group of a Japanese rule: a number, a path or a name.
func (p *parser) fieldIn(m *match, name string) (f fieldRef, ok bool) {
	switch m.mark(name) {
	case pathMark:
		return fieldRef{name: m.text(name), path: true}, true
	case quoteMark:
		return fieldRef{name: m.text(name)}, p.valueAt(m.groups[name][0]) == nil
	}
	if n := m.counts(name); len(n) == 1 && n[0] > 0 && strings.HasSuffix(m.folded(name), "列目") {
		return fieldRef{number: n[0]}, true
	}
	text := strings.TrimSuffix(strings.TrimSuffix(m.text(name), "列"), "カラム")
	if text == "レベル" || text == "ログレベル" {
		text = "level"
	}
	return fieldRef{name: text, guess: true}, text != "" && !japaneseNouns(text) && !looksLikeFile(text)
}

func namedJa(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "name")
	if ok {
		f.guess = false
		p.q.addField(f)
	}
	return ok
}

// unitJa sets the unit that a word names instead of a field.
func (p *parser) unitJa(word string) bool {
	unit := map[string]feature{"行": lines, "単語": words}[word]
	if unit != 0 {
		p.q.set(unit | freq)
	}
	return unit != 0
}

// eachJa is for 各行の出現回数.
func eachJa(p *parser, m *match) bool {
	word := m.folded("field")
	if word == "値" {
		word = "行"
	}
	return p.unitJa(word) || p.frequencyOf(m)
}

// frequencyOf is for how often each value of a field occurs.
func (p *parser) frequencyOf(m *match) bool {
	f, ok := p.fieldIn(m, "field")
	if ok {
		p.q.addField(f)
		p.q.set(freq)
	}
	return ok
}

// timesOfJa is for 商品の出現回数; of a value it is that value's.
func timesOfJa(p *parser, m *match) bool {
	return !p.q.some(field|freq) && m.mark("field") != quoteMark && p.q.about(hasFields) && p.frequencyOf(m)
}

// groupJa is for 商品ごと.
func groupJa(p *parser, m *match) bool {
	word := m.folded("field")
	switch word {
	case "エラーメッセージ", "エラー":
		p.setLevel("ERROR")
		fallthrough
	case "メッセージ":
		p.q.set(messages | freq)
		return true
	}
	return p.unitJa(word) || p.groupBy(p.fieldIn(m, "field"))
}

// extremeJa is for 一番高い単価, and for 単価が一番高い商品, which is a row.
func extremeJa(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "field")
	dir := m.folded("dir")
	switch {
	case !ok || p.q.some(grouped|totals):
		return false
	case m.has("who"):
		return p.rowWithMost(f, largeWords(dir))
	}
	return dir != "多い" && dir != "少ない" && p.extremeOf(f, largeWords(dir))
}

// rankBy is for 単価の高い順に3件. Of a word for how often, it is the most frequent that are wanted.
func rankBy(p *parser, m *match) bool {
	f, ok := p.fieldIn(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	if n, ok := m.count("n"); ok && !p.q.number(n) {
		return false
	}
	if m.has("n") {
		p.q.set(amount)
	}
	dir := m.folded("dir")
	p.order(largeWords(dir))
	p.q.byCount = dir == "多い" || dir == "少ない"
	return p.groupBy(f, true)
}

// orderedByJa is for 個数の降順.
func orderedByJa(p *parser, m *match) bool {
	if !p.groupBy(p.fieldIn(m, "field")) {
		return false
	}
	p.order(m.folded("dir") == "降順")
	return true
}

// sortByJa is for 単価でソート; a field that was found before is a hole by now.
func sortByJa(p *parser, m *match) bool {
	p.q.set(sorted)
	if p.at(m.groups["field"][0]) != hole {
		return p.groupBy(p.fieldIn(m, "field"))
	}
	last := len(p.q.fields) - 1
	if last < 0 || p.q.is(grouped) {
		return true
	}
	by := p.q.fields[last]
	if p.q.fields = p.q.fields[:last]; last == 0 {
		p.q.has &^= field
	}
	return p.groupBy(by, true)
}

// descendingJa tells 多い順, which is about how often, from the others.
func descendingJa(p *parser, m *match) bool {
	return !p.q.some(level|messages) && p.folded(m.from, min(m.from+3, m.to)) != "多い順"
}
