package rules

import "encoding/json"

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
