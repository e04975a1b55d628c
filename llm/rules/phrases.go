package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hako/internal/text"
)

// say formats a text in the language of the request; answers.po has the translations. A context before a bar
// distinguishes translations of the same text. A translation may omit values, or use %[2]s for another order.
func (q *query) say(text string, values ...any) string {
	if q.lang == ja {
		text = translations()[text]
	} else if _, after, ok := strings.Cut(text, "|"); ok {
		text = after
	}
	text, _, _ = strings.Cut(fmt.Sprintf(text, values...), "%!(EXTRA")
	return text
}

// quoted shows a text of the user.
func (q *query) quoted(s string) string { return q.say("%q", text.Shorten(s, 80)) }

// listed joins names.
func (q *query) listed(names []string) string {
	const limit = 20
	if len(names) > limit {
		names = append(names[:limit:limit], "…")
	}
	return strings.Join(names, q.say(", "))
}

// lines says how many lines: "1 line", "2 lines", 「2 行」.
func (q *query) lines(n int) string { return q.several(n, "line") }

func (q *query) several(n int, unit string) string {
	unit = q.say(unit)
	switch {
	case q.lang == ja || n == 1:
	case strings.HasSuffix(unit, "y"):
		unit = strings.TrimSuffix(unit, "y") + "ies"
	default:
		unit += "s"
	}
	return itoa(n) + " " + unit
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
	var parts []string
	for _, n := range q.with {
		if q.anyText {
			parts = append(parts, q.quoted(n.text))
		} else {
			list = append(list, q.detail(n, false))
		}
	}
	if q.anyText {
		list = append(list, q.say("containing %s", strings.Join(parts, q.say(" or "))))
	}
	for _, n := range q.without {
		list = append(list, q.detail(n, true))
	}
	for _, c := range q.where {
		list = append(list, q.conditionText(c))
	}
	if q.is(inside) {
		list = append(list, q.windowText()...)
	}
	if q.is(skip) {
		list = append(list, q.say("without the first %d", q.skipped))
	}
	for _, d := range []struct {
		said feature
		text string
	}{{blank, "empty"}, {filled, "not empty"}, {anyCase, "ignoring case"}, {wholeWord, "as a whole word"}} {
		if q.is(d.said) {
			list = append(list, q.say(d.text))
		}
	}
	return list
}

func (q *query) detail(n textFilter, not bool) string {
	text := q.quoted(n.text)
	switch {
	case n.regex:
		return q.say("matching the expression %s", text)
	case n.starts && n.ends:
		return q.say("that are exactly %s", text)
	case n.dot:
		return q.say("ending with %s or %s", text, q.quoted(n.text+"."))
	case n.starts:
		return q.say("starting with %s", text)
	case n.ends:
		return q.say("ending with %s", text)
	case not:
		return q.say("not containing %s", text)
	}
	return q.say("containing %s", text)
}

func (q *query) conditionText(c condition) string {
	name := c.field.name
	if c.field.number > 0 {
		name = q.say("column %d", c.field.number)
	}
	switch {
	case c.op == "empty" && name == "":
		return q.say("a field is empty")
	case c.op == "empty":
		return q.say("%s is empty", name)
	case c.op == "filled":
		return q.say("%s is not empty", name)
	}
	return fmt.Sprintf("%s %s %s", name, c.op, c.value)
}

// of is the caption of a number or some lines: the file, and the details.
func (q *query) of(file string, more ...string) string {
	parts := slices.Concat([]string{file}, more, q.details())
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return q.say("(%s)", strings.Join(parts, q.say(", ")))
}

// plain formats a number with at most so many decimals; about is true if that changed it.
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
