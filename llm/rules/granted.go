package rules

import (
	"strconv"
	"strings"
)

// listFiles answers which files can be read.
func listFiles(_ *conversation, q *query) string {
	if len(q.files) == 0 {
		return q.noFiles()
	}
	var lines []string
	for _, f := range q.files {
		lines = append(lines, q.say("- %s (%s bytes)", "- %s（%s バイト）", f.Name, strconv.FormatInt(f.Bytes, 10)))
	}
	return q.several(len(q.files), "file", "ファイル") + q.say(" can be read:", "が読めます:") + "\n" + strings.Join(lines, "\n")
}

// sizes answers how large files are.
func sizes(_ *conversation, q *query) string {
	if len(q.files) == 0 {
		return q.noFiles()
	}
	if q.is(biggest) {
		return q.largest()
	}
	names, problem := q.sources()
	if problem != "" {
		return problem
	}
	var lines []string
	sum := int64(0)
	for _, f := range q.files {
		for _, name := range names {
			if f.Name == name {
				sum += f.Bytes
				lines = append(lines, q.say("%s bytes (%s)", "%s バイト（%s）", strconv.FormatInt(f.Bytes, 10), f.Name))
			}
		}
	}
	if len(lines) > 1 {
		lines = append(lines, q.say("Total: %s bytes", "合計: %s バイト", strconv.FormatInt(sum, 10)))
	}
	return strings.Join(lines, "\n")
}

func (q *query) largest() string {
	best := q.files[0]
	for _, f := range q.files {
		if f.Bytes > best.Bytes {
			best = f
		}
	}
	return q.say("%s is the largest with %s bytes.", "最も大きいのは %s で、%s バイトです。", best.Name,
		strconv.FormatInt(best.Bytes, 10))
}
