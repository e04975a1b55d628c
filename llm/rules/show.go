package rules

import (
	"regexp"
	"slices"
	"strings"
)

// showLines shows lines, or the values of fields: chosen, sorted, cut.
func showLines(t *conversation, q *query) string {
	files := q.sources()
	switch {
	case len(files) > maxFiles:
		return q.oneFile()
	case q.is(head) && q.is(tail), q.some(repeats|unique) && q.some(span|skip|grouped):
		return q.twoThings()
	case q.is(top) && !ranking(q):
		return q.topOrFirst()
	case q.is(grouped|field) && q.n == 0 && !q.some(sorted|top|unique|include|exclude|level|numbered) && len(files) == 1,
		q.is(top|field|grouped) && len(files) == 1:
		return t.eachGroup(q, files[0])
	case q.is(top | field):
		return q.rowsOrTotals()
	}
	if len(files) > 1 && q.is(include) && !q.some(field|sorted|unique|repeats) {
		q.set(numbered)
	}
	return strings.Join(t.eachFile(files, func(f string) string { return t.showIn(q, f) }), "\n\n")
}

// eachGroup is for "quantity by product" and "top 3 customers by quantity": the sums of what can be added up.
func (t *conversation) eachGroup(q *query, file string) string {
	l := t.look(file)
	if l.json != nil || len(q.fields) != 1 {
		return q.rowsOrTotals()
	}
	value, key := q.twoColumns(l)
	if q.is(top) {
		key, value = value, key
	}
	if !value.numeric() || key.numeric() || !additive(normal(value.name)) || !key.inAwk() {
		return q.rowsOrTotals()
	}
	q.by, q.fields = fieldRef{name: key.name}, []fieldRef{{name: value.name}}
	q.totals = []string{"sum"}
	q.has = q.has&^top | totals | sorted
	return t.totalBy(q, file)
}

// topOrFirst asks what "the top 10 lines" are.
func (q *query) topOrFirst() string {
	return q.say("Do you mean the first %[1]d lines or the %[1]d most frequent lines? Please say \"first\" or "+
		"\"most frequent\".", q.limit(10))
}

// rowsOrTotals asks what "the top 3 products by price" are.
func (q *query) rowsOrTotals() string {
	by := q.by.name
	if q.by.number > 0 {
		by = q.say("column %d", q.by.number)
	}
	return q.say("Do you mean the rows with the largest %[1]s, or the sum of %[1]s for each %[2]s? Please say "+
		"\"top %[3]d rows by %[1]s\" or \"top %[3]d %[2]s by total %[1]s\".", by, q.fields[0].name, q.limit(10))
}

func (t *conversation) showIn(q *query, file string) string {
	p, notes := t.shown(q, file)
	out := t.run(p)
	lines := out.lines()
	if len(lines) == 0 {
		return q.nothing(file, notes, t.otherCase(q, file, 0))
	}
	if q.is(field) && len(lines) == 1 && !out.Cut {
		return lines[0] + q.say(" ") + q.of(file, notes...)
	}
	text := block(lines) + "\n" + t.summary(q, p, out, q.of(file, notes...))
	if garbled(lines) {
		text += "\n\n" + q.unreadable(file)
	}
	return text
}

// numberedTakes are the features of lines that are shown with their numbers.
const numberedTakes = numbered | show | find | lines | include | exclude | anyCase | wholeWord | blank | filled | head |
	tail | span | inside | whole | allFiles | times

// shown builds the command that shows what is wanted of a file.
func (t *conversation) shown(q *query, file string) (p pipe, notes []string) {
	if q.is(numbered) && q.has&^numberedTakes == 0 {
		if !q.is(inside) {
			notes = q.windowText()
		}
		return q.numberedStages(nil, file), notes
	}
	r := t.rows(q, file)
	if q.is(numbered) {
		if q.exceptLevel || r.style.lines == nil || r.style.lines[0][0] != "grep" || q.is(inside) ||
			q.has&^(numberedTakes|level|messages) != 0 {
			stopWith(q.partly(q.phrases[numbered]))
		}
		return q.numberedStages(r.style.lines, file), r.notes
	}
	if r.style.none {
		return from(file).then("grep", "-E", `\b(`+levelSpellings(q.level)+`)\b`), r.notes
	}
	t.records(q, &r)
	if q.is(grouped) {
		t.sortBy(q, &r)
	}
	if q.is(field) {
		t.pick(q, &r)
	} else {
		r.pipe = r.written(r.pipe)
	}
	p, more := q.arranged(r.pipe)
	return p, append(r.notes, more...)
}

// records makes lines of the elements of a list of JSON that was asked for: "users where …" are its elements.
func (t *conversation) records(q *query, r *rowSet) {
	if len(q.fields) != 1 || !r.isJSON() {
		return
	}
	if c := q.column(r.layout, q.fields[0]); r.json.kindAt(c.path) == "array" {
		q.has &^= field
		r.unnest(q, append(slices.Clone(c.path), "[]"))
		r.notes = append(r.notes, c.label(q))
	}
}

// pick takes the fields that are wanted out of the lines.
func (t *conversation) pick(q *query, r *rowSet) {
	var cols []*column
	for _, ref := range q.fields {
		cols = append(cols, q.column(r.layout, ref))
	}
	cols = withoutOwners(cols)
	var exprs []string
	for _, c := range cols {
		r.notes = append(r.notes, c.label(q))
		if len(cols) > 1 {
			r.unnest(q, c.path)
			exprs = append(exprs, "("+c.expr(r.root)+` | tostring) // ""`)
		}
	}
	if len(cols) == 1 {
		if cols[0].numeric() {
			q.set(numeric)
		}
		r.pipe = r.valuesOf(q, cols[0])
		return
	}
	option := "-Rr"
	if r.json != nil {
		option = "-r"
	}
	r.pipe = r.pipe.then("jq", option, "["+strings.Join(exprs, ", ")+`] | join("  ")`)
}

// withoutOwners leaves out lists of which other fields are asked for: in "names of users" the list only says where the
// names are.
func withoutOwners(cols []*column) (kept []*column) {
	for _, c := range cols {
		owner := slices.ContainsFunc(cols, func(d *column) bool {
			return len(d.path) > len(c.path) && c.json != nil && slices.Equal(d.path[:len(c.path)], c.path)
		})
		if !owner {
			kept = append(kept, c)
		}
	}
	return kept
}

// arranged adds the stages for order and cut.
func (q *query) arranged(p pipe) (_ pipe, notes []string) {
	switch {
	case q.is(repeats):
		p = p.then("sort", "-f").then("uniq", "-cdi").then("sort", "-rn")
		if !q.is(anyCase) {
			p.stages[len(p.stages)-3], p.stages[len(p.stages)-2] = []string{"sort"}, []string{"uniq", "-cd"}
		}
		notes = append(notes, q.say("lines that occur more than once, with how often"))
	case q.is(unique) && !q.is(sorted):
		p = p.then(append([]string{"sort"}, q.sortOptions(false)...)...)
		notes = append(notes, q.say("each only once, sorted"))
	}
	if q.is(sorted) && !q.is(grouped) {
		p = p.then(append([]string{"sort"}, q.sortOptions(q.is(numeric))...)...)
		notes = append(notes, q.order())
	}
	if q.is(reverse) && !q.is(sorted) {
		p = p.then("tac")
		notes = append(notes, q.say("last line first"))
	}
	if q.is(amount) || ranking(q) && q.n > 0 {
		p = p.then("head", "-n", itoa(q.n))
	}
	if q.is(inside) { // told with the other details
		return p, notes
	}
	return p.join(q.window()), append(notes, q.windowText()...)
}

// sortOptions are the options of sort for the order that is wanted.
func (q *query) sortOptions(numbers bool) (list []string) {
	if numbers {
		list = append(list, "-n")
	}
	if q.is(anyCase) && !q.some(include|exclude) {
		list = append(list, "-f")
	}
	if q.backwards() {
		list = append(list, "-r")
	}
	if q.is(unique) {
		list = append(list, "-u")
	}
	return list
}

// backwards reports whether the largest comes first.
func (q *query) backwards() bool {
	return q.is(descending) || q.is(reverse) || q.is(top) && !q.is(ascending)
}

// order says in what order lines are shown.
func (q *query) order() string {
	if q.backwards() {
		return q.say("sorted in descending order")
	}
	return q.say("sorted")
}

// orderBy says the same for a field. Texts are compared by their letters, which need not be what is meant: dates can be
// written in many ways.
func (q *query) orderBy(name string, numbers bool) string {
	switch {
	case numbers && q.backwards():
		return q.say("by %s, largest first", name)
	case numbers:
		return q.say("by %s, smallest first", name)
	case q.backwards():
		return q.say("by the letters of %s, last first", name)
	}
	return q.say("by the letters of %s", name)
}

// windowText says which part is shown.
func (q *query) windowText() (list []string) {
	switch {
	case q.is(head) && q.n == 1:
		return []string{q.say("the first")}
	case q.is(tail) && q.n == 1:
		return []string{q.say("the last")}
	case q.is(head):
		return []string{q.say("the first %d", q.n)}
	case q.is(tail):
		return []string{q.say("the last %d", q.n)}
	}
	for _, s := range q.spans {
		switch {
		case s[1] == 0:
			list = append(list, q.say("from line %d on", s[0]))
		case s[0] == s[1]:
			list = append(list, q.say("line %d", s[0]))
		default:
			list = append(list, q.say("lines %d to %d", s[0], s[1]))
		}
	}
	return list
}

// sortBy sorts the lines by a field.
func (t *conversation) sortBy(q *query, r *rowSet) {
	c := q.column(r.layout, q.by)
	numbers := c.numeric() || q.is(numeric)
	r.notes = append(r.notes, q.orderBy(c.name, numbers))
	switch {
	case numbers && c.inAwk() && c.delim != " ":
		t.noteNonNumbers(q, r, r.pipe, c)
		r.pipe = c.byNumber(r.pipe, q.backwards())
	case c.inAwk() && c.delim != " ":
		key := itoa(c.index+1) + "," + itoa(c.index+1)
		options := slices.DeleteFunc(q.sortOptions(numbers), func(s string) bool { return s == "-u" })
		words := append([]string{"sort", "-s", "-t", c.delim}, options...)
		r.pipe = r.pipe.then(append(words, "-k", key)...)
	default:
		r.unnest(q, c.path)
		option := "-Rrn"
		if c.json != nil {
			option = "-cn"
		}
		filter := `[inputs | {l: ., k: (` + c.expr(r.root) + ` | tonumber? // .)}] | sort_by(.k)`
		if q.backwards() {
			filter += " | reverse"
		}
		r.pipe = r.pipe.then("jq", option, filter+" | .[] | .l")
	}
}

// numeric reports whether the values that were seen are numbers.
func (c *column) numeric() bool {
	if c.json != nil {
		return c.json.kindAt(c.path) == "number"
	}
	seen := false
	for _, row := range c.rows {
		if c.index >= len(row) || row[c.index] == "" {
			continue
		}
		if !numberForm.Get().MatchString(row[c.index]) && !amountForm.Get().MatchString(row[c.index]) {
			return false
		}
		seen = true
	}
	return seen
}

// numberedStages is the command that shows lines with their numbers, behind stages that find the lines of a level if
// there are any. Behind the first stage, a line begins with its number.
func (q *query) numberedStages(first [][]string, file string) pipe {
	stages, window := q.filters(), q.window()
	p := from(file)
	switch {
	case len(first) > 0:
		p = p.then(slices.Insert(slices.Clone(first[0]), 1, "-n")...).join(first[1:])
	case q.is(inside) || len(stages) == 0:
		p, window = p.then("grep", "-n", "").join(window), nil
	default:
		p, stages = p.then(slices.Insert(stages[0], 1, "-n")...), stages[1:]
	}
	for _, s := range stages {
		p = p.then(behindNumber(s)...)
	}
	return p.join(window)
}

// behindNumber makes a stage of grep look behind the number of a line.
func behindNumber(stage []string) []string {
	regex := slices.ContainsFunc(stage, func(s string) bool { return s == "-E" || s == "-vE" })
	out := []string{"grep"}
	if !regex {
		out = append(out, "-E")
	}
	for i, w := range stage[1:] {
		pattern := i == len(stage)-2 || stage[i] == "-e"
		switch {
		case w == "-F":
		case !pattern:
			out = append(out, w)
		default:
			if !regex {
				w = regexp.QuoteMeta(w)
			}
			if rest, ok := strings.CutPrefix(w, "^"); ok && regex {
				out = append(out, "^[0-9]+:"+rest)
			} else {
				out = append(out, "^[0-9]+:.*"+w)
			}
		}
	}
	return out
}

// summary says how many lines were shown, and of how many if the output was cut.
func (t *conversation) summary(q *query, p pipe, out output, about string) string {
	shown := len(out.lines())
	if !out.Cut {
		return q.lines(shown) + q.say(" ") + about
	}
	all, known := t.extra(p.counted())
	if known {
		return q.say("… cut: the first %d of %d lines are shown %s", shown, all.number(), about)
	}
	return q.say("… cut: the first %d of %d bytes are shown %s", len(out.Out), int(out.Total), about)
}

// nothing says that there is no such line.
func (q *query) nothing(file string, notes []string, otherCase int) string {
	text := q.say("Nothing found %s.", q.of(file, notes...))
	if slices.ContainsFunc(q.with,
		func(n textFilter) bool { return !n.regex && strings.ContainsAny(n.text, `[]*^$\+?()|`) }) {
		text += q.say(" If a regular expression is meant, say: matching the regex \"…\".")
	}
	if otherCase > 0 {
		text += q.say(" Ignoring case, there would be %s.", q.lines(otherCase))
	}
	return text
}
