package rules

import (
	"slices"
	"strings"
)

// whichFiles answers which files contain a text.
func whichFiles(t *conversation, q *query) string {
	files, problem := q.sources()
	if problem != "" {
		return problem
	}
	if len(q.with) != 1 && !q.any || q.is(exclude) {
		return q.twoThings()
	}
	words := slices.Insert(q.grep(q.with), 1, "-l")
	for _, f := range files {
		words = append(words, operand(f))
	}
	out, ok := t.run(pipe{stages: [][]string{words}}.bare())
	if !ok {
		return ""
	}
	list := out.lines()
	if len(list) == 0 {
		return q.say("None of the files: %s", "どのファイルにもありません%s。", q.of(q.listed(files)))
	}
	for i, name := range list {
		list[i] = "- " + strings.TrimPrefix(name, "./")
	}
	return strings.Join(list, "\n") + "\n\n" + q.say("%d of %d files %s", "%[2]d ファイル中 %[1]d ファイル%[3]s", len(list),
		len(files), q.of(""))
}
