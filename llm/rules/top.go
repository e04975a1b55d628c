package rules

import (
	"slices"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

// A valueCount is a value with how often it occurs.
type valueCount struct {
	n    int
	text string
}

var tallyForm = lazyregexp.New(`^ *([0-9]+) (.*)$`)

// tallies reads the output of uniq -c.
func (o *output) tallies() (list []valueCount) {
	for _, line := range o.lines() {
		if m := tallyForm.Get().FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			list = append(list, valueCount{n, m[2]})
		}
	}
	return list
}

// ranked adds the stages that count equal lines, the most frequent first.
func (p pipe) ranked(q *query) pipe {
	order := "-rn"
	if q.is(least) {
		order = "-n"
	}
	if q.is(anyCase) && !q.some(include|exclude) {
		return p.then("sort", "-f").then("uniq", "-ci").then("sort", order)
	}
	return p.then("sort").then("uniq", "-c").then("sort", order)
}

// usual is how many are shown if nobody says.
func (q *query) usual() int {
	switch {
	case q.n > 0:
		return q.n
	case q.is(freq):
		return 50
	}
	return 10
}

// wordStage makes a line of each word.
var wordStage = []string{"grep", "-oE", `[[:alnum:]_'-]+`}

// frequent answers which lines, words or values occur most often, and how often.
func frequent(t *conversation, q *query) string {
	if q.is(top) && q.n > 0 && !q.some(freq|least|field|grouped|words|include|level|count) && !q.often {
		return q.topOrFirst()
	}
	file, problem := q.source()
	if problem != "" {
		return problem
	}
	if by, ok, is := t.byValue(q, file); !ok {
		return ""
	} else if is {
		q.by, q.fields = by, nil
		q.has = q.has&^(field|top|freq|manyOnly) | grouped | sorted | amount | show
		q.n = q.one(10)
		if !q.is(ascending) {
			q.set(descending)
		}
		return showLines(t, q)
	}
	if q.is(grouped) && !q.is(field) {
		q.fields, q.by = []fieldRef{q.by}, fieldRef{}
		q.set(field)
	}
	if q.is(grouped) && q.by != (fieldRef{}) {
		return q.twoThings()
	}
	p, c, problem, ok := t.valueLines(q, file)
	if !ok || problem != "" {
		return problem
	}
	if q.is(words) {
		p = p.then(wordStage...)
	}
	if q.is(words | anyCase) {
		p = p.then("tr", "A-Z", "a-z")
	}
	n := q.usual()
	out, ok := t.run(p.ranked(q).then("head", "-n", itoa(n)).String())
	kinds, ok2 := t.run(p.then("sort", "-u").counted().String())
	if !ok || !ok2 {
		return ""
	}
	return q.ranking(file, out.tallies(), kinds.number(), c.label(q))
}

// manyOnly are features that say nothing where rows are ranked.
const manyOnly = count | records | least

// byValue reports whether the top of a column is meant by its values: the top 3
// salaries are the highest, not those that occur most often.
func (t *conversation) byValue(q *query, file string) (by fieldRef, ok, is bool) {
	one := q.is(field) && len(q.fields) == 1 && !q.is(grouped)
	if one {
		by = q.fields[0]
	} else if q.is(grouped) && !q.is(field) && q.manyFew {
		by = q.by
	}
	if by == (fieldRef{}) || q.often || q.is(freq) || !q.some(top|sorted) || q.is(words) || q.is(count) && !q.manyFew {
		return by, true, false
	}
	l, ok := t.look(file)
	if !ok || l.json != nil || l.header == nil {
		return by, ok, false
	}
	c, problem := t.column(q, l, by)
	return by, true, problem == "" && c.wide() && c.numeric()
}

// saysOften reports whether a phrase speaks of frequency, and not only of a
// place at the top.
func saysOften(phrase string) bool {
	for _, word := range []string{"frequent", "common", "often", "popular", "repeated", "used", "most", "多", "頻", "よく",
		"回数"} {
		if strings.Contains(strings.ToLower(phrase), word) {
			return true
		}
	}
	return false
}

// ranking words a list of tallies.
func (q *query) ranking(file string, list []valueCount, kinds int, notes ...string) string {
	if len(list) == 0 {
		return q.nothing(file, notes, 0)
	}
	lines := tallyLines(list)
	tail := q.several(kinds, q.say("different value", "種類"), "種類")
	if kinds > len(list) {
		tail = q.say("%d of %d different values", "%[2]d 種類のうち %[1]d 種類", len(list), kinds)
	}
	return strings.Join(lines, "\n") + "\n\n" + tail + q.say(" ", "") + q.of(file, notes...)
}

// tallyLines numbers a list of tallies.
func tallyLines(list []valueCount) (lines []string) {
	for i, e := range list {
		text := strings.TrimRight(e.text, "\r ")
		if text == "" {
			text = `""`
		}
		lines = append(lines, strconv.Itoa(i+1)+". "+strconv.Itoa(e.n)+" × "+text)
	}
	return lines
}

// topMessages answers which messages of a log occur most often. Messages that
// differ only in numbers are counted together; one that is always the same keeps
// its numbers.
func topMessages(t *conversation, q *query) string {
	file, problem := q.source()
	if problem != "" {
		return problem
	}
	if q.some(matching | skip) {
		return q.partly(q.said[matching] + q.said[skip])
	}
	style, ok := t.style(file, q.level)
	if !ok {
		return ""
	}
	if style.access {
		text, _ := t.accessErrors(q, file)
		return text
	}
	if style.message == nil && !style.none || q.lacks || q.some(status|timed) {
		return q.say("I cannot tell the messages in %s from the rest of its lines.", "%s のメッセージを読み分けられません。", file)
	}
	if style.none {
		return q.say("Nothing found: no line of %s has the level %s.", "見つかりませんでした。%s にレベル %s の行はありません。", file, q.levelText())
	}
	lines := from(file).join(style.lines).join(q.filters())
	messages := lines.join(style.message)
	n := q.one(10)
	if q.is(top) && q.n == 0 && !q.is(freq) && q.tongue == en && !severalMessages.Get().MatchString(q.request) {
		n = 1
	}
	grouped, ok := t.run(messages.then(alike()...).ranked(q).then("head", "-n", itoa(n)).String())
	exact, ok2 := t.run(messages.ranked(q).then("head", "-n", "50").String())
	total, ok3 := t.run(lines.counted().String())
	kinds, ok4 := output{}, true
	if q.is(count | unique) {
		kinds, ok4 = t.run(messages.then(alike()...).then("sort", "-u").counted().String())
	}
	if !ok || !ok2 || !ok3 || !ok4 {
		return ""
	}
	text := q.messageList(file, style, grouped.tallies(), exact.tallies(), total.number(), n)
	if q.is(count | unique) {
		text = q.several(kinds.number(), "different message", "種類のメッセージ") + q.say(":", "があります:") + "\n\n" + text
	}
	return text
}

var severalMessages = lazyregexp.New(`(?i)\b(?:errors|warnings|messages|logs|entries|lines)\b`)

func (q *query) levelText() string {
	if q.level == "" {
		return q.say("(any)", "（すべて）")
	}
	return q.level
}

// messageList words the most frequent messages.
func (q *query) messageList(file string, style logStyle, list, exact []valueCount, total, n int) string {
	if len(list) == 0 {
		return q.nothing(file, []string{q.say("level %s", "レベル %s", q.levelText())}, 0)
	}
	merged := false
	for i, e := range list {
		same := slices.IndexFunc(exact, func(x valueCount) bool { return x.n == e.n && alikeText(x.text) == e.text })
		if same >= 0 {
			list[i].text = exact[same].text
			continue
		}
		merged = merged || strings.Contains(e.text, "#")
	}
	text := strings.Join(tallyLines(list), "\n") + "\n\n"
	if len(list) < q.n {
		text += q.say("Only %s. ", "メッセージは %sだけです。", q.several(len(list), "different message", "種類"))
	}
	text += q.say("%s in all %s.", "全部で %s%s。", q.lines(total), q.of(file, q.styleNotes(style)...))
	if merged {
		text += q.say(" Messages that differ only in numbers or ids are counted together (#).",
			"数字や ID だけが違うメッセージはまとめて数えました（# で表示）。")
	}
	if style.fields {
		text += q.say(" What stands between level and message (thread, logger, host, key=value) is left out.",
			"レベルとメッセージの間の項目（スレッド、ロガー、ホスト、key=value）は省きました。")
	}
	return text
}

func (q *query) styleNotes(style logStyle) []string {
	switch {
	case style.mention:
		return []string{q.say("lines that mention %s; the log has no levels that I know", "%sという語を含む行。知っている形式のレベルはありません",
			q.quoted(q.levelWord()))}
	case q.level != "":
		return []string{q.say("level %s", "レベル %s", q.level)}
	}
	return nil
}

// periods are how much of a timestamp says in which minute, hour or day it is.
var periods = map[string]string{
	"day":    `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ].*$%\1%p`,
	"hour":   `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]([0-9]{2}):.*$%\1 \2:00%p`,
	"minute": `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]([0-9]{2}:[0-9]{2}).*$%\1 \2%p`,
}

var timeOfLine = lazyregexp.New(`^\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}`)

// byTime answers how many lines there are in each hour, day or minute. Only
// lines that begin with a date and a time can be told.
func byTime(t *conversation, q *query) string {
	file, problem := q.source()
	if problem != "" {
		return problem
	}
	first, ok := t.run(from(file).then("head", "-n", itoa(sampleLines)).String())
	r, problem, ok2 := t.rows(q, file)
	if !ok || !ok2 || problem != "" {
		return problem
	}
	if !slices.ContainsFunc(first.lines(), timeOfLine.Get().MatchString) {
		return q.say("The lines of %s do not begin with a date and time that I can read (like 2026-01-31T12:00), so I cannot count by time.",
			"%s の行は読み取れる日時（2026-01-31T12:00 など）で始まっていないため、時間別に数えられません。", file)
	}
	if r.style.none {
		return q.nothing(file, r.notes, 0)
	}
	times := r.then("sed", "-nE", periods[q.per])
	out, ok := t.run(times.then("sort").then("uniq", "-c").String())
	all, ok2 := t.run(r.counted().String())
	dated, ok3 := t.run(times.counted().String())
	if !ok || !ok2 || !ok3 {
		return ""
	}
	return q.timeTable(file, r, out, all.number(), dated.number())
}

func (q *query) timeTable(file string, r rowSet, out output, all, dated int) string {
	list := out.tallies()
	if len(list) == 0 {
		return q.nothing(file, r.notes, 0)
	}
	var lines []string
	for _, e := range list {
		lines = append(lines, e.text+"  "+itoa(e.n))
	}
	text := block(lines) + "\n"
	if out.Cut {
		text += q.say("… cut here. ", "… 長いため途中までです。")
	}
	text += q.lines(all) + q.say(" ", "") + q.of(file, r.notes...)
	if dated < all {
		text += q.say(" %d of them do not begin with a date and are not in the table.", "うち %d 行は日時で始まらないため表に入っていません。",
			all-dated)
	}
	return text
}
