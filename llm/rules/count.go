package rules

import (
	"slices"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxFiles is how many files are asked one by one in a turn.
const maxFiles = 8

// howManyOf answers how many lines, words, characters or bytes there are, or lines of some kind.
func howManyOf(t *conversation, q *query) string {
	files := q.sources()
	switch {
	case len(files) > maxFiles:
		return q.oneFile()
	case q.some(head|tail|span) && !q.is(inside):
		return q.twoThings()
	}
	sum := 0
	parts := t.eachFile(files, func(f string) string {
		n, text := t.countIn(q, f)
		sum += n
		return text
	})
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(s, "\n") }) {
		return strings.Join(parts, "\n") + "\n" + q.say("Total: %d", sum)
	}
	return strings.Join(parts, "\n\n")
}

// countIn answers for one file. The number is 0 if it is none to be added up.
func (t *conversation) countIn(q *query, file string) (n int, text string) {
	switch {
	case q.is(field) && !q.is(unique) && !q.some(rowFeatures|level):
		return 0, t.countList(q, file)
	case q.is(field) && !q.is(unique):
		return t.countElements(q, file)
	case q.some(unique|repeats) && q.some(chars|size):
		return 0, q.twoThings()
	case q.is(unique), q.is(repeats):
		return t.countDistinct(q, file)
	case q.some(words|chars|size) && !q.is(times):
		return t.countUnits(q, file)
	case q.is(times) && len(q.with) == 1:
		return t.countTimes(q, file)
	case q.anyText && !q.some(level|exclude|matching|inside|timed|status):
		return t.countAny(q, file)
	}
	return t.countLines(q, file)
}

// countElements answers how many elements of a list meet a condition.
func (t *conversation) countElements(q *query, file string) (n int, text string) {
	l := t.look(file)
	list, problem := q.findColumn(l, q.fields[0])
	if problem != "" || l.json == nil || len(q.where) == 0 || q.some(level|include|exclude) {
		return 0, q.partly(q.phrases[field])
	}
	c, problem := q.findColumn(l, q.where[0].field)
	if at := lastElement(c.path); problem != "" || at < 0 || !slices.Equal(c.path[:at], list.path) {
		return 0, q.partly(q.phrases[field])
	}
	plain := *q
	plain.has &^= field
	return t.countLines(&plain, file)
}

// countLines answers how many lines of some kind there are.
func (t *conversation) countLines(q *query, file string) (n int, text string) {
	r := t.rows(q, file)
	if r.isJSON() && r.root == nil && q.is(records) {
		return 0, t.lengthOf(q, r.layout, nil)
	}
	if r.style.none {
		return 0, q.say("%s %s", q.lines(0), q.of(file, q.say("level %s", q.level)))
	}
	n = t.number(r.counted())
	other := t.otherCase(q, file, n)
	unit := q.lines(n)
	if r.hasHeader() {
		unit = q.several(n, "row")
	}
	text = q.say("%s %s", unit, q.of(file, r.notes...))
	switch {
	case q.yesNo && n > 0:
		text = q.say("Yes: ") + text
	case q.yesNo:
		text = q.say("No: ") + text
	}
	if n == 0 && other > 0 {
		text += q.say(" Ignoring case, there would be %d.", other)
	}
	return n, text
}

// countAny answers how many lines have one of several texts, and how many have each.
func (t *conversation) countAny(q *query, file string) (n int, text string) {
	_, done := t.work(func() string {
		n, text = t.countLines(q, file)
		return text
	})
	var pipes []pipe
	for _, w := range q.with {
		pipes = append(pipes, from(file).then(q.grep([]textFilter{w})...).counted())
	}
	var parts []string
	for i, out := range t.runAll(pipes...) {
		parts = append(parts, q.quoted(q.with[i].text)+" "+itoa(out.number()))
	}
	if !done {
		panic(stop{})
	}
	return n, text + q.say(": ") + strings.Join(parts, q.say(", "))
}

// otherCase counts the lines as if capitals did not matter, where there are none otherwise.
func (t *conversation) otherCase(q *query, file string, found int) int {
	if found > 0 || !q.is(include) || q.some(anyCase|matching|level|inside|timed|status) ||
		!slices.ContainsFunc(q.with, hasLetters) {
		return 0
	}
	other := *q
	other.set(anyCase)
	out, _ := t.extra(from(file).join(other.filters()).counted())
	return out.number()
}

func hasLetters(n textFilter) bool { return strings.ToUpper(n.text) != strings.ToLower(n.text) }

// countTimes answers how often a text occurs, which may be several times in a line.
func (t *conversation) countTimes(q *query, file string) (n int, text string) {
	r := t.rows(q, file)
	r.pipe = r.written(r.pipe)
	only := slices.Insert(q.grep(q.with), 1, "-o")
	out := t.runAll(r.then(only...).then("grep", "-c", ""), r.counted())
	n = out[0].number()
	notes := append(r.notes, q.say("in %s", q.lines(out[1].number())))
	return n, q.say("%s %s", q.several(n, "time"), q.of(file, notes...))
}

// unitNames are the units of wc with their options.
var unitNames = []struct {
	unit         feature
	option, name string
}{{lines, "-l", "line"}, {words, "-w", "word"}, {chars, "-m", "character"}, {size, "-c", "byte"}}

var speaksOfLines = lazyregexp.New(`(?i)\b(?:lines?|rows?|entries|records?)\b|行`)

// countUnits answers how many words, characters or bytes there are.
func (t *conversation) countUnits(q *query, file string) (n int, text string) {
	if q.some(include|exclude) && !speaksOfLines.Get().MatchString(q.request) { // words that contain something
		return 0, q.partly(q.phrases[include] + q.phrases[exclude])
	}
	r := t.rows(q, file)
	r.pipe = r.written(r.pipe)
	var pipes []pipe
	var units []string
	for _, u := range unitNames {
		if !q.is(u.unit) || u.unit == lines && q.some(include|exclude|matching) {
			continue
		}
		p := r.then("wc", u.option)
		if u.unit == lines {
			p = r.counted()
		}
		pipes, units = append(pipes, p), append(units, u.name)
	}
	var parts []string
	for i, out := range t.runAll(pipes...) {
		n = firstNumber(out.Out)
		parts = append(parts, q.several(n, units[i]))
	}
	if len(parts) > 1 {
		n = 0
	}
	if q.is(words) && q.lang == ja {
		r.notes = append(r.notes, q.say("words between spaces"))
	}
	if q.is(chars) {
		r.notes = append(r.notes, q.say("with line breaks"))
	}
	return n, q.say("%s %s", strings.Join(parts, q.say(", ")), q.of(file, r.notes...))
}

// countDistinct answers how many different lines or values there are, or how many occur more than once.
func (t *conversation) countDistinct(q *query, file string) (n int, text string) {
	v, c := t.valueLines(q, file)
	name, unit := c.label(q), "different line"
	if q.is(words) {
		v, name = v.then(wordStage...), q.say("words")
	}
	kinds := v.then("sort", "-u").counted()
	if q.is(repeats) {
		out := t.runAll(v.then("sort").then("uniq", "-d").counted(), v.counted(), kinds)
		n = out[0].number()
		return n, q.say("%s %s", q.several(n, "kinds|line"), q.of(file, name,
			q.say("that occur more than once, with %d surplus copies", out[1].number()-out[2].number())))
	}
	if n = t.number(kinds); name != "" {
		unit = "kinds|different value"
	}
	return n, q.say("%s %s", q.several(n, unit), q.of(file, name))
}

// valueLines returns the pipe with one value a line: those of the field that was asked for, else the lines themselves;
// the column is nil then.
func (t *conversation) valueLines(q *query, file string) (pipe, *column) {
	r := t.rows(q, file)
	if !q.is(field) {
		return r.written(r.pipe), nil
	}
	if len(q.fields) != 1 {
		stopWith(q.twoThings())
	}
	c := q.column(r.layout, q.fields[0])
	return r.valuesOf(q, c), c
}

// label says which field it is; no field has no name.
func (c *column) label(q *query) string {
	switch {
	case c == nil:
		return ""
	case c.json != nil:
		return q.say("key %s", c.name)
	case c.form != "", c.level:
		return c.name
	case c.key != "":
		return q.say("field %s", c.name)
	}
	return q.say("column %s", c.name)
}

// checkQuotes makes sure that quoted fields do not go over several lines, which commands that work by lines cannot
// read.
func (t *conversation) checkQuotes(q *query, l *layout) {
	if l.json != nil || !l.quotes {
		return
	}
	if t.number(from(l.file).then("grep", "-cvE", `^[^"]*("[^"]*"[^"]*)*$`)) > 0 {
		stopWith(q.say("%s has quoted fields with line breaks in them, which I cannot read with certainty, "+
			"so I give no number.", l.file))
	}
}

// firstNumber reads what wc prints before the name of the file.
func firstNumber(s string) int {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	n, _ := strconv.Atoi(first)
	return n
}
