package rules

import "strings"

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
