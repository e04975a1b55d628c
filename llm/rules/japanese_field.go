package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// eachJa is for 各行の出現回数.
func eachJa(p *parser, m *match) bool {
	switch m.folded("field") {
	case "行", "値":
		p.q.set(freq | lines)
		return true
	case "単語":
		p.q.set(freq | words)
		return true
	}
	f, ok := p.fieldJa(m, "field")
	if ok {
		p.q.addField(f)
		p.q.set(freq)
	}
	return ok
}

// addUpJa is for 個数を全部足すといくつ.
func addUpJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(totals) {
		return false
	}
	p.q.addField(f)
	p.addTotal("sum")
	p.q.set(totals)
	return true
}

// fieldJa is the field in a group: a number, a path or a name.
func (p *parser) fieldJa(m *match, name string) (f fieldRef, ok bool) {
	switch m.mark(name) {
	case pathMark:
		return fieldRef{name: m.text(name), path: true}, true
	case quoteMark:
		return fieldRef{name: m.text(name)}, p.valueAt(m.groups[name][0]) == nil
	}
	if n := p.numbers(m, name); len(n) == 1 && n[0] > 0 && strings.HasSuffix(m.folded(name), "列目") {
		return fieldRef{number: n[0]}, true
	}
	text := strings.TrimSuffix(strings.TrimSuffix(m.text(name), "列"), "カラム")
	if text == "レベル" || text == "ログレベル" {
		text = "level"
	}
	return fieldRef{name: text, guess: true}, text != "" && !japaneseNouns(text) && !looksLikeFile(text)
}

func namedJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "name")
	if ok {
		f.guess = false
		p.q.addField(f)
	}
	return ok
}

func columnNumbersJa(p *parser, m *match) bool {
	name := "n"
	if m.has("n2") {
		name = "n2"
	}
	n, ok := m.count(name)
	if ok {
		p.q.addField(fieldRef{number: n})
	}
	return ok
}

func lastColumn(p *parser, _ *match) bool {
	p.q.addField(fieldRef{number: -1})
	return true
}

// totalsJa notes what to calculate.
func totalsJa(p *parser, m *match) bool {
	for _, g := range []string{"agg", "agg2", "agg3"} {
		if m.has(g) {
			p.addTotal(aggregates[m.folded(g)])
		}
	}
	p.q.set(totals)
	return true
}

func totalOfJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(totals) {
		return false
	}
	p.q.addField(f)
	return totalsJa(p, m)
}

// totalPrefixJa is for 平均単価.
func totalPrefixJa(p *parser, m *match) bool {
	switch m.folded("field") {
	case "値", "額", "金額", "行数", "文字数", "単語数", "バイト数", "件数", "行":
		return false
	}
	return totalOfJa(p, m)
}

var largeJa = []string{"大きい", "高い", "多い", "長い", "新しい"}

// extremeJa is for 一番高い単価, and for 単価が一番高い商品, which is a row.
func extremeJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.some(grouped|totals) {
		return false
	}
	large := slices.Contains(largeJa, m.folded("dir"))
	if m.has("who") {
		p.q.by = f
		p.q.set(grouped | sorted | amount | map[bool]feature{true: descending, false: ascending}[large])
		return p.q.number(1)
	}
	if m.folded("dir") == "多い" || m.folded("dir") == "少ない" {
		return false
	}
	p.q.addField(f)
	p.addTotal(map[bool]string{true: "max", false: "min"}[large])
	p.q.set(totals)
	return true
}

// rankBy is for 単価の高い順に3件. Of a word for how often, it is the most
// frequent that are wanted.
func rankBy(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	if n, ok := m.count("n"); ok && !p.q.number(n) {
		return false
	}
	if m.has("n") {
		p.q.set(amount)
	}
	p.q.by = f
	p.q.set(grouped | sorted)
	if slices.Contains(largeJa, m.folded("dir")) {
		p.q.set(descending)
	} else {
		p.q.set(ascending)
	}
	p.q.manyFew = m.folded("dir") == "多い" || m.folded("dir") == "少ない"
	return true
}

// orderedByJa is for 個数の降順.
func orderedByJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped | sorted | map[string]feature{"降順": descending, "昇順": ascending}[m.folded("dir")])
	return true
}

// groupJa is for 商品ごと.
func groupJa(p *parser, m *match) bool {
	switch m.folded("field") {
	case "行":
		p.q.set(lines | freq)
		return true
	case "単語":
		p.q.set(words | freq)
		return true
	case "メッセージ", "エラーメッセージ", "エラー":
		p.q.set(messages | freq)
		if m.folded("field") != "メッセージ" {
			p.q.level = "ERROR"
			p.q.set(level)
		}
		return true
	}
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped)
	return true
}

// sortByJa is for 単価でソート; a field that was noted before is a hole by now.
func sortByJa(p *parser, m *match) bool {
	p.q.set(sorted)
	g := m.groups["field"]
	if p.at(g[0]) == hole {
		if len(p.q.fields) == 0 || p.q.is(grouped) {
			return true
		}
		p.q.by = p.q.fields[len(p.q.fields)-1]
		p.q.fields = p.q.fields[:len(p.q.fields)-1]
		if len(p.q.fields) == 0 {
			p.q.has &^= field
		}
		p.q.set(grouped)
		return true
	}
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.is(grouped) {
		return false
	}
	p.q.by = f
	p.q.set(grouped)
	return true
}

// descendingJa tells 多い順, which is about how often, from the others.
func descendingJa(p *parser, m *match) bool {
	if p.q.some(level|messages) || p.folded(m.from, min(m.from+3, m.to)) == "多い順" {
		return false
	}
	p.q.set(sorted | descending)
	return true
}

// whereJa notes a condition.
func whereJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	c := condition{field: f, value: m.text("val"), num: m.mark("val") == numberMark, op: operatorJa(m)}
	if c.num {
		c.value = strings.ReplaceAll(string(foldedRunes(c.value)), ",", "")
	}
	if !ok || m.mark("val") == 0 && (japaneseNouns(c.value) || comparing.Get().MatchString(c.value)) {
		return false
	}
	if end, ok := m.groups["end"]; ok {
		m.to = end[0]
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching)
	return true
}

// comparing are words that a value cannot have.
var comparing = lazyregexp.New(`以上|以下|未満|以外|平均|最大|最小|合計|より`)

func operatorJa(m *match) string {
	op := m.folded("op")
	if known := comparisons[op]; known != "" {
		return known
	}
	switch {
	case m.has("op2"):
		return "!="
	case op == "", op == "等しい", op == "一致する":
		return "=="
	case strings.HasSuffix(op, "下回る"), strings.Contains(op, "小さ"), strings.HasSuffix(op, "少ない"),
		strings.HasSuffix(op, "低い"), strings.HasSuffix(op, "安い"):
		return "<"
	}
	return ">"
}
