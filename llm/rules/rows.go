package rules

import (
	"regexp"
	"slices"
)

// rowSet are the lines of one file that a request is about.
type rowSet struct {
	pipe
	*layout          // nil if it did not matter
	style   logStyle // of a request for a level
	root    []string // of JSON: the path to the records that the lines are now; nil means that nothing was unnested
	notes   []string // for the caption
}

// isJSON reports whether the lines are known to be JSON.
func (r *rowSet) isJSON() bool { return r.layout != nil && r.json != nil }

// hasHeader reports whether the lines are known to be of a table with a header.
func (r *rowSet) hasHeader() bool { return r.layout != nil && r.header != nil }

// rows builds the stages that keep the lines a request is about.
func (t *conversation) rows(q *query, file string) rowSet {
	r := rowSet{pipe: from(file)}
	t.statusText(q, file)
	if q.some(matching|field|grouped|records) || q.is(sorted) && isTable(file) {
		r.layout = t.look(file)
		t.checkQuotes(q, r.layout)
		if r.json == nil {
			r.pipe = r.pipe.join(r.body())
		}
		if r.header != nil {
			r.notes = append(r.notes, q.say("without the header"))
		}
	}
	if q.is(inside) {
		r.pipe = r.pipe.join(q.window())
	}
	t.where(q, &r)
	t.logRows(q, &r, file)
	if r.isJSON() && q.some(include|exclude|blank|filled|skip) && r.root == nil && !r.json.Loose && ext(file) == ".json" {
		stopWith(q.say("I cannot search the lines of a JSON document and read its keys at the same time."))
	}
	if more := q.skipped; q.is(skip) {
		if r.hasHeader() {
			more-- // the header is gone already
		}
		if more > 0 {
			r.pipe = r.pipe.then("tail", "-n", "+"+itoa(more+1))
		}
	}
	r.pipe = r.pipe.join(q.filters())
	return r
}

// logRows keeps the lines of a level, a status, a time of the day.
func (t *conversation) logRows(q *query, r *rowSet, file string) {
	if q.is(level) {
		t.levelRows(q, r, file)
	}
	if q.is(status) {
		t.statusRows(q, r, file)
	}
	if q.is(timed) {
		t.timeRows(q, r, file)
	}
}

func isTable(file string) bool { return ext(file) == ".csv" || ext(file) == ".tsv" }

// levelRows keeps the lines of a level.
func (t *conversation) levelRows(q *query, r *rowSet, file string) {
	if r.style = t.style(file, q.level); r.style.access {
		stopWith(t.accessErrors(q, file))
	}
	if q.exceptLevel {
		q.withoutLevel(r)
		return
	}
	r.pipe = r.pipe.join(r.style.lines)
	r.notes = append(r.notes, q.styleNotes(r.style)...)
	if isJSON(file) {
		r.root = []string{}
		if l := t.lookJSON(file, false); len(l.json.Paths) > 0 && l.json.Type == "array" {
			r.root = []string{"[]"}
		}
	}
}

// withoutLevel keeps the lines that are not of a level.
func (q *query) withoutLevel(r *rowSet) {
	switch {
	case r.style.none:
		r.style.none = false
	case r.style.others != nil:
		r.pipe = r.pipe.then(r.style.others...)
	case len(r.style.lines) == 1 && r.style.lines[0][0] == "grep":
		r.pipe = r.pipe.then(slices.Insert(slices.Clone(r.style.lines[0]), 1, "-v")...)
	default:
		stopWith(q.partly(q.phrases[level]))
	}
	r.notes = append(r.notes, q.say("without the lines of level %s", q.level))
}

// where adds the stages of conditions.
func (t *conversation) where(q *query, r *rowSet) {
	for _, cond := range q.where {
		if cond.op == "empty" && cond.field == (fieldRef{}) {
			c := column{layout: r.layout, any: true}
			if !r.hasHeader() || !c.inAwk() {
				stopWith(q.partly(q.phrases[matching]))
			}
			r.pipe = r.pipe.then(c.awk(c.test(cond))...)
			continue
		}
		c := q.column(r.layout, cond.field)
		r.unnest(q, c.path)
		switch {
		case c.inAwk():
			before := r.pipe
			r.pipe = r.pipe.then(c.awk(c.test(cond))...)
			if cond.num {
				t.noteNonNumbers(q, r, before, c)
			}
		case cond.op == "empty" || cond.op == "filled":
			stopWith(q.partly(q.phrases[matching]))
		default:
			r.pipe = r.pipe.then(r.jq("select(" + c.jqTest(cond, r.root) + ")")...)
		}
	}
}

// unnest makes lines of the records that a path leads to: from then on, paths begin there.
func (r *rowSet) unnest(q *query, path []string) {
	root := path[:lastElement(path)+1]
	if !r.isJSON() || r.root != nil && slices.Equal(r.root, root) {
		return
	}
	if r.root != nil {
		stopWith(q.say("The keys belong to different lists, which I cannot combine."))
	}
	r.root = append([]string{}, root...)
	filter := jqSteps(root)
	if !r.json.Loose && len(root) > 0 {
		r.pipe = r.pipe.then("jq", "-c", filter)
	}
	if r.json.Loose {
		r.pipe = r.pipe.then("jq", "-Rc", "fromjson? | "+filter)
	}
}

// lastElement is the index of the last "[]" of a path, -1 if it has none.
func lastElement(path []string) int {
	for i, step := range slices.Backward(path) {
		if step == "[]" {
			return i
		}
	}
	return -1
}

// jq is a stage with a filter over the lines: lines of text, or records of JSON.
func (r *rowSet) jq(filter string) []string {
	if r.isJSON() {
		return []string{"jq", "-c", filter}
	}
	return []string{"jq", "-Rr", filter}
}

// expr is a filter of jq that takes the value out of a line.
func (c *column) expr(root []string) string {
	switch {
	case c.json != nil:
		return "(" + jqPath(c.path[len(root):]) + ")"
	case c.level:
		return "(" + levelFilter() + ")"
	case c.key != "":
		return `(capture(` + jsonText(`(?:^|\s)`+regexp.QuoteMeta(c.key)+`="?(?<v>[^\s"]*)`) + `) | .v)`
	case c.form != "":
		return `(match(` + jsonText(c.form) + `) | .string)`
	}
	return "(" + c.fieldsFilter() + " | .[" + itoa(c.index) + `] // "")`
}

// jqTest is a filter of jq that is true for lines that meet a condition.
func (c *column) jqTest(cond condition, root []string) string {
	value := c.expr(root)
	if !cond.num {
		return value + " | tostring " + cond.op + " " + jsonText(cond.value)
	}
	number := value + " | tonumber? " + cond.op + " " + cond.value
	if cond.op == "==" {
		return "(" + value + " | tostring) == " + jsonText(cond.value) + " or (" + number + ")"
	}
	return number
}

// valuesOf adds the stages that make a line of each value of a column.
func (r *rowSet) valuesOf(q *query, c *column) pipe {
	if c.json == nil || r.root == nil {
		return r.pipe.join(c.values())
	}
	r.unnest(q, c.path)
	return r.pipe.then("jq", "-r", jqPath(c.path[len(r.root):])+scalarText)
}
