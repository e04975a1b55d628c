package rules

import (
	"slices"

	"hako/internal/lazyregexp"
)

// accessLine is what a web server writes of a request, in the common or the
// combined format.
var accessLine = lazyregexp.New(`"[A-Z]+ [^"]*" [1-5][0-9]{2} (?:[0-9]+|-)`)

// isAccess reports whether lines are those of a web server.
func isAccess(sample []string) bool {
	return len(sample) > 0 && slices.ContainsFunc(sample, accessLine.Get().MatchString)
}

// sample are the first lines of a file.
func (t *conversation) sample(file string) ([]string, bool) {
	out, ok := t.run(from(file).then("head", "-n", itoa(sampleLines)).String())
	return out.lines(), ok
}

// statusPattern finds the answers with a status, or a class of them: 5..
func statusPattern(code string) string { return `" ` + code + ` ([0-9]+|-)` }

// statusRows keeps the lines with a status.
func (t *conversation) statusRows(q *query, r *rowSet, file string) (problem string, ok bool) {
	lines, ok := t.sample(file)
	if !ok {
		return "", false
	}
	if !isAccess(lines) {
		return q.partly(q.said[status]), true
	}
	r.pipe = r.pipe.then("grep", "-E", statusPattern(q.status))
	r.notes = append(r.notes, q.say("status %s", "ステータス %s", q.status))
	return "", true
}

// accessErrors answers how many errors a web server had: its log has no levels.
func (t *conversation) accessErrors(q *query, file string) (text string, ok bool) {
	server, ok := t.run(from(file).then("grep", "-cE", statusPattern("5[0-9]{2}")).String())
	client, ok2 := t.run(from(file).then("grep", "-cE", statusPattern("4[0-9]{2}")).String())
	if !ok || !ok2 {
		return "", false
	}
	return q.say("%s is the log of a web server and has no levels. By status: %s with a server error (5xx), %s with a client error (4xx).",
		"%s は Web サーバーのアクセスログで、レベルはありません。ステータス別: サーバーエラー (5xx) %s、クライアントエラー (4xx) %s。",
		file, q.lines(server.number()), q.lines(client.number())), true
}

// clockForm finds the time of day in a line.
const clockForm = `[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?`

var clockInLine = lazyregexp.New(`\b[0-2][0-9]:[0-5][0-9]`)

// timeRows keeps the lines of some time of the day.
func (t *conversation) timeRows(q *query, r *rowSet, file string) (problem string, ok bool) {
	lines, ok := t.sample(file)
	if !ok {
		return "", false
	}
	if !slices.ContainsFunc(lines, clockInLine.Get().MatchString) {
		return q.partly(q.said[timed]), true
	}
	test := `t >= ` + awkString(q.time[0])
	if q.time[1] != "" {
		less := map[bool]string{true: " <= ", false: " < "}[q.through]
		test += ` && substr(t, 1, ` + itoa(len(q.time[1])) + `)` + less + awkString(q.time[1])
	}
	r.pipe = r.pipe.then("awk", `match($0, /`+clockForm+`/) {t = substr($0, RSTART, RLENGTH); if (`+test+`) print}`)
	r.notes = append(r.notes, q.spanNote()+q.say(", on any day", "（日付は問わない）"))
	return "", true
}

// spanNote says which times of day were asked for.
func (q *query) spanNote() string {
	from, to := q.time[0], q.time[1]
	switch {
	case to == "":
		return q.say("from %s on", "%s 以降", from)
	case !q.through:
		return q.say("before %s", "%s より前", to)
	case from == "":
		return q.say("through %s", "%s まで", to)
	}
	return q.say("from %s through %s", "%s から %s まで", from, to)
}

// syslogForm is how lines of syslog begin.
const syslogForm = `^[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [^ ]+ `

var syslogLine = lazyregexp.New(syslogForm)

// plainStyle is for logs whose lines have no level: the message is what comes
// after the time, and after the program in syslog.
func plainStyle(sample []string) logStyle {
	if len(sample) > 0 && !slices.ContainsFunc(sample, func(s string) bool { return !syslogLine.Get().MatchString(s) }) {
		return logStyle{fields: true, message: [][]string{{"sed", "-E", `s%` + syslogForm + `[^ :]+: *%%`}}}
	}
	return logStyle{message: [][]string{{"sed", "-E", `s%` + timestampForm + `%%`}}}
}

var statusForm = lazyregexp.New(`^[1-5][0-9]{2}$`)

// statusNeedle takes a number for a status in the log of a web server: 404 may
// stand elsewhere in its lines too.
func (t *conversation) statusNeedle(q *query, file string) bool {
	if len(q.with) != 1 || !statusForm.Get().MatchString(q.with[0].text) || q.status != "" ||
		saysContain.Get().MatchString(q.request) || hasFields(file) {
		return true
	}
	lines, ok := t.sample(file)
	if ok && isAccess(lines) {
		q.status, q.with = q.with[0].text, nil
		q.has = q.has&^include | status
	}
	return ok
}
