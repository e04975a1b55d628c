package rules

import (
	"slices"
	"strings"
)

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
