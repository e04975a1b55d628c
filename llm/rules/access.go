package rules

import (
	"slices"

	"hako/internal/lazyregexp"
)

// accessLine matches a line of an access log, in the common or the combined format.
var accessLine = lazyregexp.New(`"[A-Z]+ [^"]*" [1-5][0-9]{2} (?:[0-9]+|-)`)

// isAccess reports whether lines are those of a web server.
func isAccess(sample []string) bool {
	return len(sample) > 0 && slices.ContainsFunc(sample, accessLine.Get().MatchString)
}

// sample are the first lines of a file.
func (t *conversation) sample(file string) []string {
	out := t.run(sampleOf(file))
	return out.lines()
}

// statusPattern finds the responses with a status, or a class of them: 5..
func statusPattern(code string) string { return `" ` + code + ` ([0-9]+|-)` }

// statusRows keeps the lines with a status.
func (t *conversation) statusRows(q *query, r *rowSet, file string) {
	if !isAccess(t.sample(file)) {
		stopWith(q.partly(q.phrases[status]))
	}
	r.pipe = r.pipe.then("grep", "-E", statusPattern(q.status))
	r.notes = append(r.notes, q.say("status %s", q.status))
}

// accessErrors answers how many errors a web server had: its log has no levels.
func (t *conversation) accessErrors(q *query, file string) string {
	out := t.runAll(from(file).then("grep", "-cE", statusPattern("5[0-9]{2}")),
		from(file).then("grep", "-cE", statusPattern("4[0-9]{2}")))
	return q.say("%s is the log of a web server and has no levels. By status: %s with a server error (5xx), "+
		"%s with a client error (4xx).", file, q.lines(out[0].number()), q.lines(out[1].number()))
}

// clockForm finds the time of day in a line.
const clockForm = `[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?`

var clockInLine = lazyregexp.New(`\b[0-2][0-9]:[0-5][0-9]`)

// timeRows keeps the lines of some time of the day.
func (t *conversation) timeRows(q *query, r *rowSet, file string) {
	if !slices.ContainsFunc(t.sample(file), clockInLine.Get().MatchString) {
		stopWith(q.partly(q.phrases[timed]))
	}
	test := `t >= ` + awkString(q.time[0])
	if q.time[1] != "" {
		less := map[bool]string{true: " <= ", false: " < "}[q.through]
		test += ` && substr(t, 1, ` + itoa(len(q.time[1])) + `)` + less + awkString(q.time[1])
	}
	r.pipe = r.pipe.then("awk", `match($0, /`+clockForm+`/) {t = substr($0, RSTART, RLENGTH); if (`+test+`) print}`)
	r.notes = append(r.notes, q.spanNote()+q.say(", on any day"))
}

// spanNote says which times of day were asked for.
func (q *query) spanNote() string {
	from, to := q.time[0], q.time[1]
	switch {
	case to == "":
		return q.say("from %s on", from)
	case !q.through:
		return q.say("before %s", to)
	case from == "":
		return q.say("through %s", to)
	}
	return q.say("from %s through %s", from, to)
}

// syslogForm is how lines of syslog begin.
const syslogForm = `^[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [^ ]+ `

var syslogLine = lazyregexp.New(syslogForm)

// plainStyle is for logs whose lines have no level: the message is what comes after the time, and after the program in
// syslog.
func plainStyle(sample []string) logStyle {
	if len(sample) > 0 && !slices.ContainsFunc(sample, func(s string) bool { return !syslogLine.Get().MatchString(s) }) {
		return logStyle{fields: true, message: [][]string{{"sed", "-E", `s%` + syslogForm + `[^ :]+: *%%`}}}
	}
	return logStyle{message: [][]string{{"sed", "-E", `s%` + timestampForm + `%%`}}}
}

var statusForm = lazyregexp.New(`^[1-5][0-9]{2}$`)

// statusText treats a number as a status in an access log: 404 may occur elsewhere in its lines too.
func (t *conversation) statusText(q *query, file string) {
	if len(q.with) != 1 || !statusForm.Get().MatchString(q.with[0].text) || q.status != "" ||
		saysContain.Get().MatchString(q.request) || hasFields(file) {
		return
	}
	if isAccess(t.sample(file)) {
		q.status, q.with = q.with[0].text, nil
		q.has = q.has&^include | status
	}
}
