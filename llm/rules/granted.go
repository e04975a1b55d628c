package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hako/llm"
)

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
