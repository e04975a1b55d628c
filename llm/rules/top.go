package rules

import (
	"cmp"
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

// wordStage makes a line of each word.
var wordStage = []string{"grep", "-oE", `[[:alnum:]_'-]+`}

// frequent answers which lines, words or values occur most often, and how often.
func frequent(t *conversation, q *query) string {
	if q.is(top) && q.n > 0 && !q.some(freq|least|field|grouped|words|include|level|count) && !q.often {
		return q.topOrFirst()
	}
	file := q.source()
	if by, ok := t.rankedBy(q, file); ok {
		q.by, q.fields = by, nil
		q.has = q.has&^(field|top|freq|count|records|least) | grouped | sorted | amount | show
		q.n = q.limit(10)
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
	p, c := t.valueLines(q, file)
	if q.is(words) {
		p = p.then(wordStage...)
	}
	if q.is(words | anyCase) {
		p = p.then("tr", "A-Z", "a-z")
	}
	n := q.limit(10)
	if q.is(freq) {
		n = q.limit(50)
	}
	out := t.runAll(p.ranked(q).then("head", "-n", itoa(n)), p.then("sort", "-u").counted())
	return q.ranking(file, out[0].tallies(), out[1].number(), c.label(q))
}

// rankedBy is the column whose values rank the rows, if that is meant: the top 3 salaries are the highest, not those
// that occur most often.
func (t *conversation) rankedBy(q *query, file string) (by fieldRef, ok bool) {
	if q.is(field) && len(q.fields) == 1 && !q.is(grouped) {
		by = q.fields[0]
	} else if q.is(grouped) && !q.is(field) && q.byCount {
		by = q.by
	}
	if by == (fieldRef{}) || q.often || q.is(freq) || !q.some(top|sorted) || q.is(words) || q.is(count) && !q.byCount {
		return by, false
	}
	l := t.look(file)
	if l.json != nil || l.header == nil {
		return by, false
	}
	c, problem := q.findColumn(l, by)
	return by, problem == "" && c.inAwk() && c.numeric()
}

// ranking is the answer for a list of counts.
func (q *query) ranking(file string, list []valueCount, kinds int, notes ...string) string {
	if len(list) == 0 {
		return q.nothing(file, notes, 0)
	}
	lines := tallyLines(list)
	tail := q.several(kinds, "different value")
	if kinds > len(list) {
		tail = q.say("%d of %d different values", len(list), kinds)
	}
	return strings.Join(lines, "\n") + "\n\n" + tail + q.say(" ") + q.of(file, notes...)
}

// tallyLines numbers a list of counts.
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

// topMessages answers which messages of a log occur most often. Messages that differ only in numbers are counted
// together; one that is always the same keeps its numbers.
func topMessages(t *conversation, q *query) string {
	file := q.source()
	if q.some(matching | skip) {
		return q.partly(q.phrases[matching] + q.phrases[skip])
	}
	style := t.style(file, q.level)
	switch {
	case style.access:
		return t.accessErrors(q, file)
	case style.message == nil && !style.none || q.exceptLevel || q.some(status|timed):
		return q.say("I cannot tell the messages in %s from the rest of its lines.", file)
	case style.none:
		return q.say("Nothing found: no line of %s has the level %s.", file, q.levelName())
	}
	lines := from(file).join(style.lines).join(q.filters())
	messages := lines.join(style.message)
	n := q.limit(10)
	if q.is(top) && q.n == 0 && !q.is(freq) && q.lang == en && !severalMessages.Get().MatchString(q.request) {
		n = 1
	}
	same := messages.then(withoutNumbers()...)
	pipes := []pipe{same.ranked(q).then("head", "-n", itoa(n)), messages.ranked(q).then("head", "-n", "50"),
		lines.counted()}
	if q.is(count | unique) {
		pipes = append(pipes, same.then("sort", "-u").counted())
	}
	out := t.runAll(pipes...)
	text := q.messageList(file, style, out[0].tallies(), out[1].tallies(), out[2].number())
	if q.is(count | unique) {
		text = q.several(out[3].number(), "kinds|different message") + q.say(":") + "\n\n" + text
	}
	return text
}

var severalMessages = lazyregexp.New(`(?i)\b(?:errors|warnings|messages|logs|entries|lines)\b`)

// levelName is the level, or a word for any.
func (q *query) levelName() string { return cmp.Or(q.level, q.say("(any)")) }

// messageList is the answer with the most frequent messages.
func (q *query) messageList(file string, style logStyle, list, exact []valueCount, total int) string {
	if len(list) == 0 {
		return q.nothing(file, []string{q.say("level %s", q.levelName())}, 0)
	}
	merged := false
	for i, e := range list {
		same := slices.IndexFunc(exact, func(x valueCount) bool { return x.n == e.n && withoutNumbersIn(x.text) == e.text })
		if same >= 0 {
			list[i].text = exact[same].text
			continue
		}
		merged = merged || strings.Contains(e.text, "#")
	}
	text := strings.Join(tallyLines(list), "\n") + "\n\n"
	if len(list) < q.n {
		text += q.say("Only %s. ", q.several(len(list), "different message"))
	}
	text += q.say("%s in all %s.", q.lines(total), q.of(file, q.styleNotes(style)...))
	if merged {
		text += q.say(" Messages that differ only in numbers or ids are counted together (#).")
	}
	if style.fields {
		text += q.say(" What stands between level and message (thread, logger, host, key=value) is left out.")
	}
	return text
}

func (q *query) styleNotes(style logStyle) []string {
	switch {
	case style.mention:
		return []string{q.say("lines that mention %s; the log has no levels that I know",
			q.quoted(q.levelWord()))}
	case q.level != "":
		return []string{q.say("level %s", q.level)}
	}
	return nil
}

// periods are the scripts that cut a timestamp to its minute, hour or day.
var periods = map[string]string{
	"day":    `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ].*$%\1%p`,
	"hour":   `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]([0-9]{2}):.*$%\1 \2:00%p`,
	"minute": `s%^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ]([0-9]{2}:[0-9]{2}).*$%\1 \2%p`,
}

var timeOfLine = lazyregexp.New(`^\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}`)

// byTime answers how many lines there are in each hour, day or minute. Only lines that begin with a date and a time
// count.
func byTime(t *conversation, q *query) string {
	file := q.source()
	first := t.sample(file)
	r := t.rows(q, file)
	if !slices.ContainsFunc(first, timeOfLine.Get().MatchString) {
		return q.say("The lines of %s do not begin with a date and time that I can read (like 2026-01-31T12:00), "+
			"so I cannot count by time.", file)
	}
	if r.style.none {
		return q.nothing(file, r.notes, 0)
	}
	times := r.then("sed", "-nE", periods[q.interval])
	out := t.runAll(times.then("sort").then("uniq", "-c"), r.counted(), times.counted())
	return q.timeTable(file, r, out[0], out[1].number(), out[2].number())
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
		text += q.say("… cut here. ")
	}
	text += q.lines(all) + q.say(" ") + q.of(file, r.notes...)
	if dated < all {
		text += q.say(" %d of them do not begin with a date and are not in the table.",
			all-dated)
	}
	return text
}
