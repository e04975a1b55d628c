package rules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hako/llm"
)

// compare answers how two files differ, which lines only one of them has, or which both have.
func compare(t *conversation, q *query) string {
	files := q.named
	if len(files) < 2 {
		files = grantedNames(q.files)
	}
	if len(files) != 2 {
		return q.say("I compare exactly two files; please name both. Granted are: %s.", q.listed(grantedNames(q.files)))
	}
	a, b := files[0], files[1]
	if q.is(differ) && q.some(onlyIn|common) {
		q.has &^= differ
	}
	switch {
	case q.is(onlyIn | common):
		return q.twoThings()
	case q.is(onlyIn):
		if q.only == b {
			a, b = b, a
		}
		return t.matchLines(q, a, b, true)
	case q.is(common):
		return t.matchLines(q, a, b, false)
	}
	if q.is(count) {
		return t.countDifferences(q, a, b)
	}
	return t.differences(q, a, b)
}

// countDifferences counts the lines that diff shows.
func (t *conversation) countDifferences(q *query, a, b string) string {
	diff := pipe{}.then("diff", operand(a), operand(b))
	out := t.runAll(diff.then("grep", "-c", "^<"), diff.then("grep", "-c", "^>"))
	onlyA, onlyB := out[0].number(), out[1].number()
	return q.say("%s: %d only in %s, %d only in %s", q.lines(onlyA+onlyB), onlyA, a, onlyB, b)
}

// differences shows the output of diff.
func (t *conversation) differences(q *query, a, b string) string {
	out := t.run(pipe{}.then("diff", "-u", operand(a), operand(b)))
	if out.Exit == 0 {
		return q.say("No differences: %s and %s are the same.", a, b)
	}
	lines := out.lines()
	for i := range lines[:min(2, len(lines))] { // without the times of the files
		lines[i], _, _ = strings.Cut(lines[i], "\t")
	}
	text := block(lines) + "\n"
	if out.Cut {
		text += q.say("… cut: the first %d of %d bytes are shown. ", len(out.Out), int(out.Total))
	}
	return text + q.say("- only in %s, + only in %s", a, b)
}

// matchLines shows the lines of a that b has, or has not. Lines are compared as a whole; their order and number do not
// matter.
func (t *conversation) matchLines(q *query, a, b string, not bool) string {
	option, about := "-xF", q.say("lines that %s has too", b)
	if not {
		option, about = "-vxF", q.say("lines that %s does not have", b)
	}
	p := from(a).then("grep", option, "-f", operand(b))
	if q.is(count) {
		return q.say("%s %s", q.lines(t.number(p.counted())), q.of(a, about))
	}
	out := t.run(p)
	if lines := out.lines(); len(lines) > 0 {
		return block(lines) + "\n" + t.summary(q, p, out, q.of(a, about))
	}
	return q.nothing(a, []string{about}, 0)
}

// whichFiles answers which files contain a text.
func whichFiles(t *conversation, q *query) string {
	files := q.sources()
	if len(q.with) != 1 && !q.anyText || q.is(exclude) {
		return q.twoThings()
	}
	words := slices.Insert(q.grep(q.with), 1, "-l")
	for _, f := range files {
		words = append(words, operand(f))
	}
	out := t.run(pipe{}.then(words...))
	list := out.lines()
	if len(list) == 0 {
		return q.say("None of the files: %s", q.of(q.listed(files)))
	}
	for i, name := range list {
		list[i] = "- " + strings.TrimPrefix(name, "./")
	}
	return strings.Join(list, "\n") + "\n\n" + q.say("%d of %d files %s", len(list),
		len(files), q.of(""))
}

// extremeLine answers which line is the longest or the shortest.
func extremeLine(t *conversation, q *query) string {
	file := q.source()
	if q.is(longest | shortest) {
		return q.twoThings()
	}
	if q.some(matching | skip | timed | status) {
		return q.partly(q.phrases[matching] + q.phrases[skip] + q.phrases[timed] + q.phrases[status])
	}
	pick, name := "max_by", q.say("the longest line")
	if q.is(shortest) {
		pick, name = "min_by", q.say("the shortest line")
	}
	p := from(file).join(q.filters()).then("jq", "-Rnc", `[inputs] | to_entries | `+pick+
		`(.value | length) | if . == null then empty else {line: (.key + 1), length: (.value | length), text: .value[:300]} end`)
	out := t.run(p)
	var found struct {
		Line, Length int
		Text         string
	}
	if json.Unmarshal([]byte(out.Out), &found) != nil {
		return q.nothing(file, nil, 0)
	}
	text := found.Text
	if len([]rune(text)) < found.Length {
		text += "…"
	}
	where := q.say("line %d", found.Line)
	if len(q.filters()) > 0 {
		where = q.say("number %d of those lines", found.Line)
	}
	return q.say("%s %s", q.several(found.Length, "character"), q.of(file, name, where)) + "\n\n" +
		block([]string{text})
}

// listFiles answers which files can be read.
func listFiles(_ *conversation, q *query) string {
	if len(q.files) == 0 {
		return q.noFiles()
	}
	var lines []string
	for _, f := range q.files {
		lines = append(lines, q.say("- %s (%s bytes)", f.Name, strconv.FormatInt(f.Bytes, 10)))
	}
	return q.several(len(q.files), "file") + q.say(" can be read:") + "\n" + strings.Join(lines, "\n")
}

// sizes answers how large files are.
func sizes(_ *conversation, q *query) string {
	if len(q.files) == 0 {
		return q.noFiles()
	}
	if q.is(biggest) {
		best := slices.MaxFunc(q.files, func(a, b llm.File) int { return cmp.Compare(a.Bytes, b.Bytes) })
		return q.say("%s is the largest with %s bytes.", best.Name, strconv.FormatInt(best.Bytes, 10))
	}
	names := q.sources()
	var lines []string
	sum := int64(0)
	for _, f := range q.files {
		if slices.Contains(names, f.Name) {
			sum += f.Bytes
			lines = append(lines, q.say("%s bytes (%s)", strconv.FormatInt(f.Bytes, 10), f.Name))
		}
	}
	if len(lines) > 1 {
		lines = append(lines, q.say("Total: %s bytes", strconv.FormatInt(sum, 10)))
	}
	return strings.Join(lines, "\n")
}
