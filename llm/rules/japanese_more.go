package rules

import "strings"

// readOnlyJa is for 3行目を削除して.
func readOnlyJa(p *parser, m *match) bool {
	if s, _ := p.view(); strings.Contains(s, "重複") || strings.Contains(s, "空行") {
		return false
	}
	p.q.unclear = p.q.onlyReads()
	return true
}

// whereEmptyJa is for 単価が空の行.
func whereEmptyJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.ground == nil {
		return false
	}
	c := condition{op: "empty", field: f}
	if m.has("not") {
		c.op = "filled"
	}
	p.q.where = append(p.q.where, c)
	p.q.set(matching | lines)
	return true
}

// anyEmptyJa is for 空欄はある？
func anyEmptyJa(p *parser, _ *match) bool {
	if p.q.ground == nil {
		return false
	}
	p.q.where = append(p.q.where, condition{op: "empty"})
	p.q.set(matching)
	return true
}

// oldestJa is for 一番若い人 and 最年長.
func oldestJa(p *parser, m *match) bool {
	if m.has("dir2") {
		m.groups["dir"] = m.groups["dir2"]
	}
	return oldestOne(p, m)
}

// timesOfJa is for 商品の出現回数; of a value it is that value's.
func timesOfJa(p *parser, m *match) bool {
	f, ok := p.fieldJa(m, "field")
	if !ok || p.q.some(field|freq) || m.mark("field") == quoteMark || !p.q.about(hasFields) {
		return false
	}
	p.q.addField(f)
	p.q.set(freq)
	return true
}

// peopleJa is for 何人, where the rows are people.
func peopleJa(p *parser, _ *match) bool {
	if !p.q.ground.people() {
		return false
	}
	p.q.set(count | records)
	return true
}

// askTextJa is for 東京はある？ of a text; in a table it may be a column.
func askTextJa(p *parser, m *match) bool {
	return !p.q.about(hasFields) && knownForm(m.text("lit")) == "" && askJa(p, m)
}
