package rules

import "strings"

// compare answers how two files differ, which lines only one of them has, or
// which both have.
func compare(t *conversation, q *query) string {
	files := q.named
	if len(files) < 2 {
		files = grantedNames(q.files)
	}
	if len(files) != 2 {
		return q.say("I compare exactly two files; please name both. Granted are: %s.",
			"比較できるのは 2 つのファイルです。両方のファイル名を書いてください。許可されているのは %s です。", q.listed(grantedNames(q.files)))
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
	diff := pipe{stages: [][]string{{"diff", operand(a), operand(b)}}}.bare()
	gone, ok := t.run(diff + " | grep -c '^<'")
	come, ok2 := t.run(diff + " | grep -c '^>'")
	if !ok || !ok2 {
		return ""
	}
	return q.say("%s: %d only in %s, %d only in %s", "%sが違います: %[3]s だけに %[2]d 行、%[5]s だけに %[4]d 行",
		q.lines(gone.number()+come.number()), gone.number(), a, come.number(), b)
}

// differences shows what diff says.
func (t *conversation) differences(q *query, a, b string) string {
	p := pipe{stages: [][]string{{"diff", "-u", operand(a), operand(b)}}, files: nil}
	out, ok := t.run(p.bare())
	if !ok {
		return ""
	}
	if out.Exit == 0 {
		return q.say("No differences: %s and %s are the same.", "違いはありません。%s と %s は同じ内容です。", a, b)
	}
	lines := out.lines()
	for i := range lines[:min(2, len(lines))] { // the files' times say nothing here
		lines[i], _, _ = strings.Cut(lines[i], "\t")
	}
	text := block(lines) + "\n"
	if out.Cut {
		text += q.say("… cut: the first %d of %d bytes are shown. ", "… 長いため途中までです（全 %[2]d バイトのうち %[1]d バイト）。", len(out.Out),
			int(out.Total))
	}
	return text + q.say("- only in %s, + only in %s", "- は %s だけ、+ は %s だけにある行です。", a, b)
}

// bare spells a pipe whose first stage names its files itself.
func (p pipe) bare() string {
	text := ""
	for i, w := range p.stages[0] {
		if i > 0 {
			text += " "
		}
		text += quote(w)
	}
	return text
}

// matchLines shows the lines of a that b has, or has not. Lines are compared as
// a whole; their order and number do not matter.
func (t *conversation) matchLines(q *query, a, b string, not bool) string {
	option := "-xF"
	about := q.say("lines that %[2]s has too", "%[2]s にもある行", a, b)
	if not {
		option = "-vxF"
		about = q.say("lines that %[2]s does not have", "%[2]s にない行", a, b)
	}
	p := from(a).then("grep", option, "-f", operand(b))
	if q.is(count) {
		n, ok := t.run(p.counted().String())
		if !ok {
			return ""
		}
		return q.say("%s %s", "%sです%s。", q.lines(n.number()), q.of(a, about))
	}
	out, ok := t.run(p.String())
	if !ok {
		return ""
	}
	lines := out.lines()
	total, known, ok := t.totalLines(p, out)
	if !ok {
		return ""
	}
	if len(lines) == 0 {
		return q.nothing(a, []string{about}, 0)
	}
	return block(lines) + "\n" + q.summary(a, []string{about}, lines, out, total, known)
}
