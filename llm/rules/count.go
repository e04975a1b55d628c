package rules

import (
	"slices"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// mostFiles is how many files are asked one by one in a turn.
const mostFiles = 8

// howManyOf answers how many lines, words, characters or bytes there are, or
// lines of some kind.
func howManyOf(t *conversation, q *query) string {
	files, problem := q.sources()
	switch {
	case problem != "":
		return problem
	case len(files) > mostFiles:
		return q.oneFile()
	case q.some(head|tail|span) && !q.is(inside):
		return q.twoThings()
	}
	var parts []string
	sum, whole := 0, true
	for _, f := range files {
		n, text, ok := t.countIn(q, f)
		if !ok {
			whole = false
			continue
		}
		sum += n
		parts = append(parts, text)
	}
	if !whole || len(parts) == 0 {
		return ""
	}
	if len(parts) > 1 && !slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(s, "\n") }) {
		return strings.Join(parts, "\n") + "\n" + q.say("Total: %d", "合計: %d", sum)
	}
	return strings.Join(parts, "\n\n")
}

// countIn answers for one file.
func (t *conversation) countIn(q *query, file string) (n int, text string, ok bool) {
	switch {
	case q.is(field) && !q.is(unique):
		return t.countThings(q, file)
	case q.some(unique|repeats) && q.some(chars|size):
		return 0, q.twoThings(), true
	case q.is(unique), q.is(repeats):
		return t.countDistinct(q, file)
	case q.some(words|chars|size) && !q.is(times):
		return t.countUnits(q, file)
	case q.is(times) && len(q.with) == 1:
		return t.countTimes(q, file)
	case q.any && !q.some(level|exclude|matching|inside|timed|status):
		return t.countAny(q, file)
	}
	return t.countLines(q, file)
}

// countThings answers "how many users": the length of that list, or how many of
// its elements meet a condition.
func (t *conversation) countThings(q *query, file string) (n int, text string, ok bool) {
	if !q.some(rowFeatures | level) {
		text, ok = t.countList(q, file)
		return 0, text, ok
	}
	l, ok := t.look(file)
	if !ok {
		return 0, "", false
	}
	list, problem := t.column(q, l, q.fields[0])
	if problem != "" || l.json == nil || len(q.where) == 0 || q.some(level|include|exclude) {
		return 0, q.partly(q.said[field]), true
	}
	c, problem := t.column(q, l, q.where[0].field)
	if at := lastElement(c.path); problem != "" || at < 0 || !slices.Equal(c.path[:at], list.path) {
		return 0, q.partly(q.said[field]), true
	}
	plain := *q
	plain.has &^= field
	return t.countLines(&plain, file)
}

// countLines answers how many lines of some kind there are.
func (t *conversation) countLines(q *query, file string) (n int, text string, ok bool) {
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" {
		return 0, problem, ok
	}
	if r.layout != nil && r.json != nil && r.root == nil && q.is(records) {
		text, ok = t.lengthOf(q, r.layout, nil)
		return 0, text, ok
	}
	if r.style.none {
		return 0, q.say("0 lines %s", "0 行です%s。", q.of(file, q.say("level %s", "レベル %s", q.level))), true
	}
	out, ok := t.run(r.counted().String())
	if !ok {
		return 0, "", false
	}
	n = out.number()
	extra, ok := t.otherCase(q, file, n)
	if !ok {
		return 0, "", false
	}
	unit := q.lines(n)
	if r.layout != nil && r.header != nil {
		unit = q.several(n, "row", "行")
	}
	text = q.say("%s %s", "%sです%s。", unit, q.of(file, r.notes...))
	if q.asked {
		text = q.say("No: ", "いいえ。") + text
		if n > 0 {
			text = q.say("Yes: ", "はい。") + strings.TrimPrefix(text, q.say("No: ", "いいえ。"))
		}
	}
	if n == 0 && extra > 0 {
		text += q.say(" Ignoring case, there would be %d.", "大文字小文字を区別しなければ %d 行です。", extra)
	}
	return n, text, true
}

// countAny answers how many lines have one of several texts, and how many have
// each.
func (t *conversation) countAny(q *query, file string) (n int, text string, ok bool) {
	n, text, ok = t.countLines(q, file)
	var parts []string
	for _, w := range q.with {
		out, got := t.run(from(file).then(q.grep([]textFilter{w})...).counted().String())
		ok = ok && got
		parts = append(parts, q.quoted(w.text)+" "+itoa(out.number()))
	}
	return n, text + q.say(": ", " 内訳: ") + strings.Join(parts, q.say(", ", "、")), ok
}

// otherCase counts the lines as if capitals did not matter, where there are none
// otherwise.
func (t *conversation) otherCase(q *query, file string, found int) (n int, ok bool) {
	if found > 0 || !q.is(include) || q.some(anyCase|matching|level|inside|timed|status) ||
		!slices.ContainsFunc(q.with, hasLetters) {
		return 0, true
	}
	other := *q
	other.set(anyCase)
	out, _, ok := t.extra(from(file).join(other.filters()).counted().String())
	return out.number(), ok
}

func hasLetters(n textFilter) bool { return strings.ToUpper(n.text) != strings.ToLower(n.text) }

// countTimes answers how often a text occurs, which may be several times in a
// line.
func (t *conversation) countTimes(q *query, file string) (n int, text string, ok bool) {
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" {
		return 0, problem, ok
	}
	r.pipe = r.written(r.pipe)
	only := slices.Insert(q.grep(q.with), 1, "-o")
	out, ok := t.run(r.then(only...).then("grep", "-c", "").String())
	lines, ok2 := t.run(r.counted().String())
	if !ok || !ok2 {
		return 0, "", false
	}
	n = out.number()
	notes := append(r.notes, q.say("in %s", "%sに出現", q.lines(lines.number())))
	return n, q.say("%s %s", "%sです%s。", q.several(n, "time", "回"), q.of(file, notes...)), true
}

// unitNames are the units of wc with their options.
var unitNames = []struct {
	unit              feature
	option            string
	english, japanese string
}{
	{lines, "-l", "line", "行"}, {words, "-w", "word", "語"}, {chars, "-m", "character", "文字"}, {size, "-c", "byte", "バイト"},
}

var speaksOfLines = lazyregexp.New(`(?i)\b(?:lines?|rows?|entries|records?)\b|行`)

// countUnits answers how many words, characters or bytes there are.
func (t *conversation) countUnits(q *query, file string) (n int, text string, ok bool) {
	if q.some(include|exclude) && !speaksOfLines.Get().MatchString(q.request) { // words that contain something
		return 0, q.partly(q.said[include] + q.said[exclude]), true
	}
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" {
		return 0, problem, ok
	}
	r.pipe = r.written(r.pipe)
	var parts []string
	for _, u := range unitNames {
		if !q.is(u.unit) || u.unit == lines && q.some(include|exclude|matching) {
			continue
		}
		p := r.then("wc", u.option)
		if u.unit == lines {
			p = r.counted()
		}
		out, got := t.run(p.String())
		ok = ok && got
		n = firstNumber(out.Out)
		parts = append(parts, q.several(n, u.english, u.japanese))
	}
	if len(parts) > 1 {
		n = 0
	}
	if q.is(words) && q.tongue == ja {
		r.notes = append(r.notes, "空白で区切った語")
	}
	if q.is(chars) {
		r.notes = append(r.notes, q.say("with line breaks", "改行を含む"))
	}
	return n, q.say("%s %s", "%sです%s。", strings.Join(parts, q.say(", ", "、")), q.of(file, r.notes...)), ok
}

// countDistinct answers how many different lines or values there are, or how
// many occur more than once.
func (t *conversation) countDistinct(q *query, file string) (n int, text string, ok bool) {
	v, c, problem, ok := t.valueLines(q, file)
	if !ok || problem != "" {
		return 0, problem, ok
	}
	name := c.label(q)
	if q.is(words) {
		v, name = v.then(wordStage...), q.say("words", "単語")
	}
	if q.is(repeats) {
		out, ok := t.run(v.then("sort").then("uniq", "-d").counted().String())
		all, ok2 := t.run(v.counted().String())
		kinds, ok3 := t.run(v.then("sort", "-u").counted().String())
		if !ok || !ok2 || !ok3 {
			return 0, "", false
		}
		n = out.number()
		return n, q.say("%s %s", "%sです%s。", q.several(n, "line", "種類の行"),
			q.of(file, name, q.say("that occur more than once, with %d surplus copies", "2 回以上現れるもの。余分な重複は %d 行",
				all.number()-kinds.number()))), true
	}
	out, ok := t.run(v.then("sort", "-u").counted().String())
	if !ok {
		return 0, "", false
	}
	n = out.number()
	unit := q.say("different line", "種類の行")
	if name != "" {
		unit = q.say("different value", "種類の値")
	}
	return n, q.say("%s %s", "%sです%s。", q.several(n, unit, unit), q.of(file, name)), true
}

// valueLines returns the pipe with one value a line: those of the field that was
// asked for, else the lines themselves; the column is nil then.
func (t *conversation) valueLines(q *query, file string) (p pipe, c *column, problem string, ok bool) {
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" || !q.is(field) {
		return r.written(r.pipe), nil, problem, ok
	}
	if len(q.fields) != 1 {
		return p, nil, q.twoThings(), true
	}
	found, problem := t.column(q, r.layout, q.fields[0])
	if problem != "" {
		return p, nil, problem, true
	}
	p, problem = r.valuesOf(q, found)
	return p, &found, problem, true
}

// label says which field it is; no field has no name.
func (c *column) label(q *query) string {
	switch {
	case c == nil:
		return ""
	case c.json != nil:
		return q.say("key %s", "キー %s", c.name)
	case c.form != "", c.level:
		return c.name
	case c.key != "":
		return q.say("field %s", "項目 %s", c.name)
	}
	return q.say("column %s", "列 %s", c.name)
}

// certain makes sure that quoted fields do not go over several lines, which
// commands that work by lines cannot read.
func (t *conversation) certain(q *query, l *layout) (problem string, ok bool) {
	if l.json != nil || !l.quotes {
		return "", true
	}
	out, ok := t.run(from(l.file).then("grep", "-cvE", `^[^"]*("[^"]*"[^"]*)*$`).String())
	if !ok || out.number() == 0 {
		return "", ok
	}
	return q.say("%s has quoted fields with line breaks in them, which I cannot read with certainty, so I give no number.",
		"%s には改行を含む引用フィールドがあり、確実に読めないため、結果を出しません。", l.file), true
}

// firstNumber reads what wc prints before the name of the file.
func firstNumber(s string) int {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[0])
	return n
}
