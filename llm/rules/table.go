package rules

import (
	"math"
	"strconv"
	"strings"
)

// Programs of awk for tables. They are many times faster than filters of jq, and read quoted fields that go over
// several lines.

// flatten is the stage that makes a line of tabs of each record of a quoted table; the record as it is written comes
// last.
func (l *layout) flatten() []string {
	first := ""
	if l.header != nil {
		first = "NR > 1 && "
	}
	return []string{"awk", "--csv", first + `NF {r = $0; o = ""; for (i = 1; i <= ` + itoa(l.width) +
		`; i++) {v = $i; gsub(/[\t\r\n]+/, " ", v); o = o v "\t"} gsub(/[\r\n]+/, " ", r); sub(/ $/, "", r); print o r}`}
}

// written is the pipe with the records as they are in the file.
func (r *rowSet) written(p pipe) pipe {
	if r.layout == nil || r.width == 0 {
		return p
	}
	return p.then("cut", "-f", itoa(r.width+1)+"-")
}

// awk is a stage over the columns of a table.
func (l *layout) awk(program string) []string {
	switch l.delim {
	case " ":
		return []string{"awk", program}
	case "\t":
		return []string{"awk", `-F\t`, program}
	case "|":
		return []string{"awk", "-F[|]", program}
	}
	return []string{"awk", "-F" + l.delim, program}
}

// numberTest is an expression of awk that makes v a number, if it is one: amounts of money are written ¥1,200 or
// $3,000.50.
const numberTest = `v ~ /^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *$/`

const cleanAmount = `sub(/\r$/, "", v); if (v ~ /^ *-?(¥|[$]|€)?[0-9]{1,3}(,[0-9]{3})*([.][0-9]+)? *$/ || v ~ /^ *-?(¥|[$]|€)[0-9]+([.][0-9]+)? *$/) gsub(/¥|[$]|€|,/, "", v); `

// awkString quotes a text for a program of awk.
func awkString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

// test is a program of awk that prints the lines that meet a condition.
func (c *column) test(cond condition) string {
	value := "$" + itoa(c.index+1)
	switch {
	case cond.op == "empty" && c.any:
		return `{for (i = 1; i <= ` + itoa(len(c.header)) + `; i++) if ($i ~ /^ *$/) {print; next}}`
	case cond.op == "empty":
		return value + ` ~ /^ *$/`
	case cond.op == "filled":
		return value + ` !~ /^ *$/`
	case cond.num:
		return `{v = ` + value + `; ` + cleanAmount + `if (` + numberTest + ` && v + 0 ` + cond.op + ` ` + cond.value +
			`) print}`
	}
	values := cond.values
	if values == nil {
		values = []string{cond.value}
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, value+" "+cond.op+" "+awkString(v))
	}
	if cond.op == "!=" {
		return strings.Join(parts, " && ")
	}
	return strings.Join(parts, " || ")
}

// nonNumbers is a program of awk that counts the values of a column that are no numbers, and shows one.
func (c *column) nonNumbers() string {
	return `{v = $` + itoa(c.index+1) + `; ` + cleanAmount + `if (!(` + numberTest +
		`) && v !~ /^ *$/) {n++; if (n == 1) x = v}} END {print n + 0 "\t" x}`
}

// noteNonNumbers reports values that a comparison of numbers leaves out.
func (t *conversation) noteNonNumbers(q *query, r *rowSet, before pipe, c *column) {
	out, known := t.extra(before.then(c.awk(c.nonNumbers())...))
	n, example, _ := strings.Cut(strings.TrimSuffix(out.Out, "\n"), "\t")
	text := "%s of %s are no numbers and left out, for example %s"
	if n == "1" {
		text = "%s of %s is no number and left out, for example %s"
	}
	if known && n != "0" && n != "" {
		r.notes = append(r.notes, q.say(text, q.several(firstNumber(n), "value"), c.name, q.quoted(example)))
	}
}

// byNumber sorts the lines by the numbers in a column; what is none comes last.
func (c *column) byNumber(p pipe, backwards bool) pipe {
	order := "2,2g"
	if backwards {
		order = "2,2gr"
	}
	program := `{v = $` + itoa(c.index+1) + `; ` + cleanAmount + `if (` + numberTest +
		`) print 0 "\t" v + 0 "\t" $0; else print 1 "\t0\t" $0}`
	return p.then(c.awk(program)...).then("sort", "-s", "-t", "\t", "-k", "1,1n", "-k", order).then("cut", "-f", "3-")
}

// sumProgram calculates over a value a line.
const sumProgram = `{a++; v = $0; ` + cleanAmount + `if (` + numberTest +
	`) {v += 0; n++; s += v; if (n == 1 || v < l) l = v; if (n == 1 || v > h) h = v} else if (!o++) x = $0; ` +
	`y = $0 ""; if (a == 1 || y < f) f = y; if (a == 1 || y > g) g = y} ` +
	`END {if (a) printf "%d\t%d\t%.17g\t%.17g\t%.17g\t%s\t%s\t%s\n", a, n, s, l, h, x, f, g}`

// medianStages find the value in the middle.
var medianStages = [][]string{
	{"awk", `{v = $0; ` + cleanAmount + `if (` + numberTest + `) print v + 0}`}, {"sort", "-g"},
	{"awk", `{v[NR] = $1} END {if (NR) printf "%.17g\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}`},
}

// readSheet reads what sumProgram prints.
func readSheet(line string) (s sumTable, ok bool) {
	parts := strings.Split(line, "\t")
	if len(parts) < 8 {
		return s, false
	}
	s.All, s.N = firstNumber(parts[0]), firstNumber(parts[1])
	s.Sum, s.Min, s.Max = float(parts[2]), float(parts[3]), float(parts[4])
	if s.N < s.All {
		s.Other = &parts[5]
	}
	s.FirstOne, s.LastOne = &parts[6], &parts[7]
	return s, true
}

func float(text string) *float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		x = math.NaN()
	}
	return &x
}

// groupProgram does the same for each value of a column. A line begins with the number to sort by.
func groupProgram(key, value *column, by string) string {
	return `{k = $` + itoa(key.index+1) + `; v = $` + itoa(value.index+1) + `; y = v; a[k]++; ` + cleanAmount +
		`if (` + numberTest + `) {v += 0; n[k]++; s[k] += v; if (n[k] == 1 || v < l[k]) l[k] = v; if (n[k] == 1 || v > h[k]) h[k] = v} else if (!o[k]++) x[k] = y} ` +
		`END {for (k in a) printf "%.17g\t%s\t%d\t%d\t%.17g\t%.17g\t%.17g\t%s\t\t\n", ` + by +
		`, k, a[k], n[k], s[k], l[k], h[k], x[k]}`
}

// groupedBy adds the stages that calculate for groups, the largest first.
func (q *query) groupedBy(r *rowSet, key, value *column) pipe {
	by := map[string]string{"sum": "s[k]", "average": "(n[k] ? s[k] / n[k] : 0)", "min": "l[k]",
		"max": "h[k]"}[q.totals[0]]
	order := "1,1gr"
	if q.is(ascending) || q.is(least) {
		order = "1,1g"
	}
	p := r.pipe.then(r.awk(groupProgram(key, value, by))...).then("sort", "-t", "\t", "-k", order, "-k", "2,2")
	if q.n > 0 {
		p = p.then("head", "-n", itoa(q.n))
	}
	return p.then("cut", "-f", "2-")
}

// groupSheets reads what groupProgram prints.
func groupSheets(out output) (list []sumTable) {
	for _, line := range out.lines() {
		key, rest, _ := strings.Cut(line, "\t")
		if s, ok := readSheet(rest); ok {
			s.Key = key
			list = append(list, s)
		}
	}
	return list
}

// joinRecords makes one line of lines that a quoted field goes over.
func joinRecords(lines []string) (list []string) {
	open := ""
	for _, s := range lines {
		if open != "" {
			s = open + " " + s
		}
		if open = ""; strings.Count(s, `"`)%2 == 1 {
			open = s
			continue
		}
		list = append(list, s)
	}
	return list
}

// inAwk reports whether awk can read the column.
func (c *column) inAwk() bool {
	return c.json == nil && !c.quotes && c.key == "" && c.form == "" && !c.level && c.delim != ""
}
