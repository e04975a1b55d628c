package rules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// sums is a filter that calculates over an array of texts. Values that are no numbers are counted too: a sum without
// them may be wrong.
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

// numberFilter converts a text to a number. If the sample has amounts with commas, these are converted too.
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
	file, question := q.findSource()
	if question != "" && len(q.named) == 0 && len(q.fields) == 1 {
		file = t.fileWith(q, q.fields[0])
	}
	switch {
	case question != "" && file == "":
		return question
	case q.some(top|amount|sorted) && !q.is(grouped) || len(q.fields) > 1:
		return q.twoThings()
	case !q.is(field):
		return t.totalOfLines(q, file)
	case q.is(grouped) && q.owner != "":
		return q.partly(q.owner)
	case q.is(grouped):
		return t.totalBy(q, file)
	}
	v, c := t.valueLines(q, file)
	if q.owner != "" && !slices.ContainsFunc(c.path,
		func(step string) bool { return singular(normal(step)) == singular(normal(q.owner)) }) {
		return q.partly(q.owner)
	}
	pipes := []pipe{v.then("awk", sumProgram)}
	if slices.Contains(q.totals, "median") {
		pipes = append(pipes, v.join(medianStages))
	}
	outputs := t.runAll(pipes...)
	s, ok := readSheet(strings.TrimSuffix(outputs[0].Out, "\n"))
	if !ok {
		return q.nothing(file, []string{c.label(q)}, 0)
	}
	s.Median = float(outputs[len(outputs)-1].Out)
	return q.totalText(file, c.label(q), &s)
}

// fileWith is the only one of several files that has a column; empty means that there is not exactly one.
func (t *conversation) fileWith(q *query, ref fieldRef) string {
	names := grantedNames(q.files)
	if len(names) > maxFiles || ref.number != 0 {
		return ""
	}
	var found []string
	t.eachFile(slices.DeleteFunc(names, func(name string) bool { return !hasFields(name) }), func(name string) string {
		if _, problem := q.findColumn(t.look(name), ref); problem == "" {
			found = append(found, name)
		}
		return ""
	})
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// totalOfLines is for a file that is a single column of numbers, and asks for the column otherwise.
func (t *conversation) totalOfLines(q *query, file string) string {
	l := t.look(file)
	single := l.json == nil && len(l.lines) > 0 &&
		!slices.ContainsFunc(l.rows, func(row []string) bool { return len(row) > 1 })
	if single {
		q.addField(fieldRef{number: 1})
		return total(t, q)
	}
	text := q.say("Of which column or key? ")
	if names := l.fieldNames(); len(names) > 0 {
		text += q.say("%[2]s has: %[1]s.", q.listed(names), file)
	}
	return text
}

var totalNames = map[string]string{"sum": "sum", "average": "average", "median": "median", "min": "minimum",
	"max": "maximum"}

var isoDate = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// totalText is the answer for a result.
func (q *query) totalText(file, name string, s *sumTable) string {
	if s.N == 0 {
		return q.noNumbers(file, name, s)
	}
	var parts []string
	for _, kind := range q.totals {
		parts = append(parts, q.totalPart(kind, s, len(q.totals) > 1))
	}
	values := q.say("%d values", s.N)
	if len(q.totals) == 1 {
		name = q.say("%[1]s of %[2]s", q.say(totalNames[q.totals[0]]), name)
	}
	return strings.Join(parts, q.say(", ")) + q.say(" ") + q.of(file, name, values) + q.leftOut(s)
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
		text = q.say("about %s", text)
	}
	if named {
		return q.say(totalNames[kind]) + " " + text
	}
	return text
}

// leftOut says which values were left out.
func (q *query) leftOut(s *sumTable) string {
	if s.Other == nil {
		return ""
	}
	return q.say(" %d of %d values are not numbers and were left out, for example %s.", s.All-s.N, s.All, q.quoted(*s.Other))
}

// noNumbers is for a field that has none; dates have a first and a last one.
func (q *query) noNumbers(file, name string, s *sumTable) string {
	var parts []string
	for _, k := range q.totals {
		text := map[string]*string{"min": s.FirstOne, "max": s.LastOne}[k]
		if text == nil || !isoDate.Get().MatchString(*text) {
			return q.say("There are no numbers to calculate with %s.", q.of(file, name)) + q.leftOut(s)
		}
		parts = append(parts, *text)
	}
	return strings.Join(parts, q.say(", ")) + q.say(" ") + q.of(file, name)
}

// totalBy answers the same for groups of rows with the same value.
func (t *conversation) totalBy(q *query, file string) string {
	r := t.rows(q, file)
	value, key := q.twoColumns(r.layout)
	r.unnest(q, value.path)
	r.unnest(q, key.path)
	if value.inAwk() && key.inAwk() && !slices.Contains(q.totals, "median") {
		out := t.run(q.groupedBy(&r, key, value))
		return q.groupTable(file, value.label(q), key.label(q), groupSheets(out), out.Cut)
	}
	input := "-Rnc"
	if r.json != nil {
		input = "-nc"
	}
	rows := `[inputs | [(` + key.expr(r.root) + ` | tostring), (` + value.expr(r.root) +
		` | tostring)]] | group_by(.[0]) | map({key: .[0][0]} + (map(.[1]) | ` + q.sums(value.numberFilter()) + `))`
	out := t.run(r.pipe.then("jq", input, rows+" | "+q.groupOrder()+" | .[]"))
	var list []sumTable
	for _, line := range out.lines() {
		var s sumTable
		if json.Unmarshal([]byte(line), &s) == nil {
			list = append(list, s)
		}
	}
	return q.groupTable(file, value.label(q), key.label(q), list, out.Cut)
}

// twoColumns are the column of the field and the one to group by.
func (q *query) twoColumns(l *layout) (value, key *column) {
	value, problem := q.findColumn(l, q.fields[0])
	key, problem2 := q.findColumn(l, q.by)
	if problem != "" || problem2 != "" {
		stopWith(strings.TrimSpace(problem + " " + problem2))
	}
	return value, key
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
		bad.Other = cmp.Or(bad.Other, s.Other)
		var parts []string
		for _, k := range q.totals {
			if s.N == 0 {
				parts = append(parts, "-")
				continue
			}
			parts = append(parts, q.totalPart(k, &s, len(q.totals) > 1))
		}
		lines = append(lines, "- "+s.Key+": "+strings.Join(parts, q.say(", ")))
	}
	if len(lines) == 0 {
		return q.nothing(file, []string{value, key}, 0)
	}
	text := strings.Join(lines, "\n") + "\n\n"
	if cut {
		text += q.say("… cut here. ")
	}
	about := q.say("%[1]s of %[2]s by %[3]s", q.say(totalNames[q.totals[0]]), value, key)
	return text + q.of(file, about) + q.leftOut(&bad)
}
