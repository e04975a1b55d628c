package rules

import "encoding/json"

// extremeLine answers which line is the longest or the shortest.
func extremeLine(t *conversation, q *query) string {
	file, problem := q.source()
	if problem != "" {
		return problem
	}
	if q.is(longest | shortest) {
		return q.twoThings()
	}
	if q.some(matching | skip | timed | status) {
		return q.partly(q.said[matching] + q.said[skip] + q.said[timed] + q.said[status])
	}
	pick, name := "max_by", q.say("the longest line", "最も長い行")
	if q.is(shortest) {
		pick, name = "min_by", q.say("the shortest line", "最も短い行")
	}
	p := from(file).join(q.filters()).then("jq", "-Rnc", `[inputs] | to_entries | `+pick+
		`(.value | length) | if . == null then empty else {line: (.key + 1), length: (.value | length), text: .value[:300]} end`)
	out, ok := t.run(p.String())
	if !ok {
		return ""
	}
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
	where := q.say("line %d", "%d 行目", found.Line)
	if len(q.filters()) > 0 {
		where = q.say("number %d of those lines", "該当する行の %d 番目", found.Line)
	}
	return q.say("%s %s", "%sです%s。", q.several(found.Length, "character", "文字"), q.of(file, name, where)) + "\n\n" +
		block([]string{text})
}
