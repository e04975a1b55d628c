package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/internal/text"
)

// say words a sentence in the language of the request. The values are the same
// for both; a sentence that wants another order says %[2]s.
func (q *query) say(english, japanese string, values ...any) string {
	if q.tongue == ja {
		return sprintf(japanese, values)
	}
	return sprintf(english, values)
}

// sprintf allows a sentence to leave values out.
func sprintf(format string, values []any) string {
	text := fmt.Sprintf(format, values...)
	if at := strings.Index(text, "%!(EXTRA"); at >= 0 {
		text = text[:at]
	}
	return text
}

// quoted shows a text of the user.
func (q *query) quoted(s string) string { return q.say("%q", "「%[1]s」", text.Shorten(s, 80)) }

// listed joins names.
func (q *query) listed(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, q.say(", ", "、"))
}

// lines says how many lines: "1 line", "2 lines", 「2 行」.
func (q *query) lines(n int) string { return q.several(n, "line", "行") }

func (q *query) several(n int, english, japanese string) string {
	if q.tongue == ja {
		return strconv.Itoa(n) + " " + japanese
	}
	if n != 1 {
		english = pluralOf(english)
	}
	return strconv.Itoa(n) + " " + english
}

func pluralOf(s string) string {
	if strings.HasSuffix(s, "y") {
		return strings.TrimSuffix(s, "y") + "ies"
	}
	return s + "s"
}

// block shows lines as they are.
func block(lines []string) string {
	fence := "```"
	for strings.Contains(strings.Join(lines, "\n"), fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Join(lines, "\n") + "\n" + fence
}

// details says which lines a request is about: containing this, not that.
func (q *query) details() (list []string) {
	for _, n := range q.with {
		if !q.any {
			list = append(list, q.detail(n, false))
		}
	}
	if q.any {
		var parts []string
		for _, n := range q.with {
			parts = append(parts, q.quoted(n.text))
		}
		list = append(list, q.say("containing %s", "%sを含む行", strings.Join(parts, q.say(" or ", "または"))))
	}
	for _, n := range q.but {
		list = append(list, q.detail(n, true))
	}
	for _, c := range q.where {
		list = append(list, q.conditionText(c))
	}
	if q.is(inside) {
		list = append(list, q.windowText()...)
	}
	if q.is(skip) {
		list = append(list, q.say("without the first %d", "先頭の %d 行を除く", q.skipped))
	}
	if q.is(blank) {
		list = append(list, q.say("empty", "空の行"))
	}
	if q.is(filled) {
		list = append(list, q.say("not empty", "空でない行"))
	}
	if q.is(anyCase) {
		list = append(list, q.say("ignoring case", "大文字小文字の区別なし"))
	}
	if q.is(wholeWord) {
		list = append(list, q.say("as a whole word", "単語単位"))
	}
	return list
}

func (q *query) detail(n textFilter, not bool) string {
	text := q.quoted(n.text)
	switch {
	case n.regex:
		return q.say("matching the expression %s", "正規表現%sに一致する行", text)
	case n.starts && n.ends:
		return q.say("that are exactly %s", "%sだけの行", text)
	case n.dot:
		return q.say("ending with %s or %s", "%s または %sで終わる行", text, q.quoted(n.text+"."))
	case n.starts:
		return q.say("starting with %s", "%sで始まる行", text)
	case n.ends:
		return q.say("ending with %s", "%sで終わる行", text)
	case not:
		return q.say("not containing %s", "%sを含まない行", text)
	}
	return q.say("containing %s", "%sを含む行", text)
}

func (q *query) conditionText(c condition) string {
	name := c.field.name
	if c.field.number > 0 {
		name = q.say("column %d", "%d 列目", c.field.number)
	}
	switch {
	case c.op == "empty" && name == "":
		return q.say("a field is empty", "空欄のある行")
	case c.op == "empty":
		return q.say("%s is empty", "%s が空", name)
	case c.op == "filled":
		return q.say("%s is not empty", "%s が空でない", name)
	}
	return fmt.Sprintf("%s %s %s", name, c.op, c.value)
}

// of says what a number or some lines are of: the file, and the details.
func (q *query) of(file string, more ...string) string {
	var parts []string
	for _, s := range append(append([]string{file}, more...), q.details()...) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return q.say("(%s)", "（%s）", strings.Join(parts, q.say(", ", "、")))
}

// plain formats a number with at most so many decimals; about is true if that
// changed it.
func plain(x float64, decimals int) (text string, about bool) {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', decimals, 64), 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64), false
	}
	text = strconv.FormatFloat(rounded, 'f', -1, 64)
	return text, math.Abs(rounded-x) > 1e-9*math.Max(1, math.Abs(x))
}

// number reads the count that a command printed.
func (o *output) number() int {
	n, _ := strconv.Atoi(strings.TrimSpace(o.Out))
	return n
}
