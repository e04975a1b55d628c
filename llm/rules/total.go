package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// sums is a filter that calculates over an array of texts. What is no number is
// counted, not forgotten: a sum without it may be wrong.
func (q *query) sums(number string) string {
	parts := []string{"all: length", "n: ($n | length)", "other: (map(select([" + number + "] == [])) | first)"}
	for _, kind := range q.totals {
		switch kind {
		case "sum", "average":
			parts = append(parts, "sum: ($n | add)")
		case "median":
			parts = append(parts, "median: ($n | sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2)")
		default:
			parts = append(parts, kind+": ($n | "+kind+")", "text_"+kind+": "+kind)
		}
	}
	return "map(" + number + ") as $n | {" + strings.Join(slices.Compact(parts), ", ") + "}"
}

// amountForm is how amounts of money are written: ¥1,200 or $3,000.50.
var amountForm = lazyregexp.New(`^[¥$€]?[0-9]{1,3}(,[0-9]{3})*([.][0-9]+)?$`)

// numberFilter makes a number of a text. Where amounts with commas were seen,
// these are read too.
func (c *column) numberFilter() string {
	for _, row := range c.rows {
		if c.index < len(row) && amountForm.Get().MatchString(row[c.index]) && strings.ContainsAny(row[c.index], "¥$€,") {
			return `(if test(` + jsonText(amountForm.Get().String()) + `) then gsub("[¥$€,]"; "") else . end | tonumber?)`
		}
	}
	return "tonumber?"
}

// A sumTable is the result of sums.
type sumTable struct {
	Key      string   `json:"key"`
	All      int      `json:"all"`
	N        int      `json:"n"`
	Other    *string  `json:"other"`
	Sum      *float64 `json:"sum"`
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Median   *float64 `json:"median"`
	FirstOne *string  `json:"text_min"`
	LastOne  *string  `json:"text_max"`
}

// total answers the sum, average, minimum, maximum or median of a field.
func total(t *conversation, q *query) string {
	file, problem := q.source()
	if problem != "" && len(q.named) == 0 && len(q.fields) == 1 {
		var ok bool
		if file, ok = t.fileWith(q, q.fields[0]); !ok {
			return ""
		}
	}
	if problem != "" && file == "" {
		return problem
	}
	if q.some(top|amount|sorted) && !q.is(grouped) || len(q.fields) > 1 {
		return q.twoThings()
	}
	if !q.is(field) {
		return t.totalOfLines(q, file)
	}
	if q.is(grouped) && q.owner != "" {
		return q.partly(q.owner)
	}
	if q.is(grouped) {
		return t.totalBy(q, file)
	}
	v, c, problem, ok := t.valueLines(q, file)
	if !ok || problem != "" {
		return problem
	}
	if q.owner != "" && !slices.ContainsFunc(c.path,
		func(step string) bool { return singular(normal(step)) == singular(normal(q.owner)) }) {
		return q.partly(q.owner)
	}
	out, ok := t.run(v.then("awk", sumProgram).String())
	middle, ok2 := output{}, true
	if slices.Contains(q.totals, "median") {
		middle, ok2 = t.run(v.join(medianStages).String())
	}
	if !ok || !ok2 {
		return ""
	}
	s, ok := readSheet(strings.TrimSuffix(out.Out, "\n"))
	if !ok {
		return q.nothing(file, []string{c.label(q)}, 0)
	}
	s.Median = float(middle.Out)
	return q.totalText(file, c.label(q), &s)
}

// fileWith is the only one of several files that has a column; empty means that
// there is not exactly one.
func (t *conversation) fileWith(q *query, ref fieldRef) (file string, ok bool) {
	names := grantedNames(q.files)
	if len(names) > mostFiles || ref.number != 0 {
		return "", true
	}
	ok = true
	n := 0
	for _, name := range names {
		if !hasFields(name) {
			continue
		}
		l, got := t.look(name)
		if !got {
			ok = false
			continue
		}
		if _, problem := t.column(q, l, ref); problem == "" {
			file = name
			n++
		}
	}
	if n != 1 {
		file = ""
	}
	return file, ok
}

// totalOfLines is for a file that is a single column of numbers, and asks for
// the column otherwise.
func (t *conversation) totalOfLines(q *query, file string) string {
	l, ok := t.look(file)
	if !ok {
		return ""
	}
	single := l.json == nil && len(l.lines) > 0 &&
		!slices.ContainsFunc(l.rows, func(row []string) bool { return len(row) > 1 })
	if single {
		q.addField(fieldRef{number: 1})
		return total(t, q)
	}
	text := q.say("Of which column or key? ", "どの列（キー）についてですか？")
	if names := l.fieldNames(); len(names) > 0 {
		text += q.say("%[2]s has: %[1]s.", "%[2]s にあるもの: %[1]s。", q.listed(names), file)
	}
	return text
}

var totalNames = map[string][2]string{
	"sum": {"sum", "合計"}, "average": {"average", "平均"}, "median": {"median", "中央値"}, "min": {"minimum", "最小"},
	"max": {"maximum", "最大"},
}

var isoDate = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// totalText words a result.
func (q *query) totalText(file, name string, s *sumTable) string {
	if s.N == 0 {
		return q.noNumbers(file, name, s)
	}
	var parts []string
	for _, kind := range q.totals {
		parts = append(parts, q.totalPart(kind, s, len(q.totals) > 1))
	}
	text := strings.Join(parts, q.say(", ", "、")) + q.say(" ", "") + q.of(file, name, q.say("%d values", "値は %d 個", s.N))
	if len(q.totals) == 1 {
		label := totalNames[q.totals[0]]
		text = parts[0] + q.say(" ", "") + q.of(file, q.say("%[1]s of %[2]s", "%[2]s の%[3]s", label[0], name, label[1]),
			q.say("%d values", "値は %d 個", s.N))
	}
	return text + q.leftOut(s)
}

// totalPart is one number, with its name if there are several.
func (q *query) totalPart(kind string, s *sumTable, named bool) string {
	value, digits := s.Sum, 6
	switch kind {
	case "average":
		mean := *s.Sum / float64(s.N)
		value, digits = &mean, 4
	case "median":
		value = s.Median
	case "min":
		value = s.Min
	case "max":
		value = s.Max
	}
	text, about := plain(*value, digits)
	if about {
		text = q.say("about %s", "約 %s", text)
	}
	if named {
		label := totalNames[kind]
		return q.say("%s %s", "%[3]s %[2]s", label[0], text, label[1])
	}
	return text
}

// leftOut says what did not take part.
func (q *query) leftOut(s *sumTable) string {
	if s.Other == nil {
		return ""
	}
	return q.say(" %d of %d values are not numbers and were left out, for example %s.",
		" %[2]d 個の値のうち %[1]d 個は数値でないため含めていません（例: %[3]s）。", s.All-s.N, s.All, q.quoted(*s.Other))
}

// noNumbers is for a field that has none; dates have a first and a last one.
func (q *query) noNumbers(file, name string, s *sumTable) string {
	var parts []string
	for _, k := range q.totals {
		text := map[string]*string{"min": s.FirstOne, "max": s.LastOne}[k]
		if text == nil || !isoDate.Get().MatchString(*text) {
			return q.say("There are no numbers to calculate with %s.", "計算できる数値がありません%s。", q.of(file, name)) + q.leftOut(s)
		}
		parts = append(parts, *text)
	}
	return strings.Join(parts, q.say(", ", "、")) + q.say(" ", "") + q.of(file, name)
}

// totalBy answers the same for groups of rows with the same value.
func (t *conversation) totalBy(q *query, file string) string {
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" {
		return problem
	}
	value, problem := t.column(q, r.layout, q.fields[0])
	key, problem2 := t.column(q, r.layout, q.by)
	if problem != "" || problem2 != "" {
		return strings.TrimSpace(problem + " " + problem2)
	}
	for _, c := range []*column{&value, &key} {
		if problem := r.unnest(q, c.path); problem != "" {
			return problem
		}
	}
	if value.wide() && key.wide() && !slices.Contains(q.totals, "median") {
		out, ok := t.run(q.groupedBy(&r, &key, &value).String())
		if !ok {
			return ""
		}
		return q.groupTable(file, value.label(q), key.label(q), groupSheets(out), out.Cut)
	}
	input := "-Rnc"
	if r.json != nil {
		input = "-nc"
	}
	rows := `[inputs | [(` + key.expr(r.root) + ` | tostring), (` + value.expr(r.root) +
		` | tostring)]] | group_by(.[0]) | map({key: .[0][0]} + (map(.[1]) | ` + q.sums(value.numberFilter()) + `))`
	out, ok := t.run(r.pipe.then("jq", input, rows+" | "+q.groupOrder()+" | .[]").String())
	if !ok {
		return ""
	}
	var list []sumTable
	for _, line := range out.lines() {
		var s sumTable
		if json.Unmarshal([]byte(line), &s) == nil {
			list = append(list, s)
		}
	}
	return q.groupTable(file, value.label(q), key.label(q), list, out.Cut)
}

// groupOrder sorts groups: the largest first, unless asked otherwise.
func (q *query) groupOrder() string {
	by := ".sum"
	switch q.totals[0] {
	case "average":
		by = "(if .n == 0 then 0 else .sum / .n end)"
	case "median", "min", "max":
		by = "." + q.totals[0]
	}
	order := "sort_by(-(" + by + " // 0))"
	if q.is(ascending) || q.is(least) {
		order = "sort_by(" + by + " // 0)"
	}
	if q.n > 0 {
		order += " | .[:" + itoa(q.n) + "]"
	}
	return order
}

func (q *query) groupTable(file, value, key string, list []sumTable, cut bool) string {
	var lines []string
	bad := sumTable{}
	for _, s := range list {
		bad.All, bad.N = bad.All+s.All, bad.N+s.N
		if bad.Other == nil {
			bad.Other = s.Other
		}
		var parts []string
		for _, k := range q.totals {
			if s.N == 0 {
				parts = append(parts, "-")
				continue
			}
			parts = append(parts, q.totalPart(k, &s, len(q.totals) > 1))
		}
		lines = append(lines, "- "+s.Key+": "+strings.Join(parts, q.say(", ", "、")))
	}
	if len(lines) == 0 {
		return q.nothing(file, []string{value, key}, 0)
	}
	text := strings.Join(lines, "\n") + "\n\n"
	if cut {
		text += q.say("… cut here. ", "… 長いため途中までです。")
	}
	label := totalNames[q.totals[0]]
	return text + q.of(file, q.say("%[1]s of %[2]s by %[3]s", "%[3]s ごとの %[2]s の%[4]s", label[0], value, key, label[1])) +
		q.leftOut(&bad)
}
