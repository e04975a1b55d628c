package rules

import (
	"slices"
)

// rowSet are the lines of one file that a request is about.
type rowSet struct {
	pipe
	*layout          // nil if it did not matter
	style   logStyle // of a request for a level
	root    []string // of JSON: the path to the records that the lines are now; nil means that nothing was taken apart
	notes   []string // what to tell about it
}

// rows puts together the stages that keep the lines a request is about. The
// problem says why that is not possible.
func (t *conversation) rows(q *query, file string) (r rowSet, problem string, ok bool) {
	r.pipe = from(file)
	if ok := t.statusNeedle(q, file); !ok {
		return r, "", false
	}
	if q.some(matching|field|grouped|records) || q.is(sorted) && isTable(file) {
		if r.layout, ok = t.look(file); !ok {
			return r, "", false
		}
		if problem, ok := t.certain(q, r.layout); problem != "" || !ok {
			return r, problem, ok
		}
		if r.layout.json == nil {
			r.pipe = r.pipe.join(r.body())
		}
		if r.header != nil {
			r.notes = append(r.notes, q.say("without the header", "見出し行を除く"))
		}
	}
	if q.is(inside) {
		r.pipe = r.pipe.join(q.window())
	}
	if problem := t.where(q, &r); problem != "" {
		return r, problem, true
	}
	if problem, ok := t.logRows(q, &r, file); !ok || problem != "" {
		return r, problem, ok
	}
	if r.layout != nil && r.json != nil && q.some(include|exclude|blank|filled|skip) && r.root == nil && !r.json.Loose &&
		ext(file) == ".json" {
		return r, q.say("I cannot search the lines of a JSON document and read its keys at the same time.",
			"JSON 文書の行の検索とキーの読み取りは同時にはできません。"), true
	}
	if more := q.skipped; q.is(skip) {
		if r.layout != nil && r.layout.header != nil {
			more-- // the header is gone already
		}
		if more > 0 {
			r.pipe = r.pipe.then("tail", "-n", "+"+itoa(more+1))
		}
	}
	r.pipe = r.pipe.join(q.filters())
	return r, "", true
}

// logRows keeps the lines of a level, a status, a time of the day.
func (t *conversation) logRows(q *query, r *rowSet, file string) (problem string, ok bool) {
	for _, step := range []struct {
		said feature
		keep func(*query, *rowSet, string) (string, bool)
	}{{level, t.levelRows}, {status, t.statusRows}, {timed, t.timeRows}} {
		if !q.is(step.said) {
			continue
		}
		if problem, ok := step.keep(q, r, file); !ok || problem != "" {
			return problem, ok
		}
	}
	return "", true
}

func isTable(file string) bool { return ext(file) == ".csv" || ext(file) == ".tsv" }

// levelRows keeps the lines of a level.
func (t *conversation) levelRows(q *query, r *rowSet, file string) (problem string, ok bool) {
	if r.style, ok = t.style(file, q.level); !ok {
		return "", false
	}
	if r.style.access {
		return t.accessErrors(q, file)
	}
	if q.lacks {
		return q.withoutLevel(r), true
	}
	r.pipe = r.pipe.join(r.style.lines)
	switch {
	case r.style.mention:
		r.notes = append(r.notes, q.say("lines that mention %s; the log has no levels that I know",
			"%sという語を含む行。知っている形式のレベルはありません", q.quoted(q.levelWord())))
	default:
		r.notes = append(r.notes, q.say("level %s", "レベル %s", q.level))
	}
	if isJSON(file) {
		r.root = []string{}
		if l, ok := t.lookJSON(file, false); ok && len(l.json.Paths) > 0 && l.json.Type == "array" {
			r.root = []string{"[]"}
		}
	}
	return "", true
}

// withoutLevel keeps the lines that do not have the word of a level.
func (q *query) withoutLevel(r *rowSet) (problem string) {
	switch {
	case r.style.none:
		r.style.none = false
	case r.style.others != nil:
		r.pipe = r.pipe.then(r.style.others...)
	case len(r.style.lines) == 1 && r.style.lines[0][0] == "grep":
		r.pipe = r.pipe.then(slices.Insert(slices.Clone(r.style.lines[0]), 1, "-v")...)
	default:
		return q.partly(q.said[level])
	}
	r.notes = append(r.notes, q.say("without the lines of level %s", "レベル %s の行を除く", q.level))
	return ""
}

// where adds the stages of conditions.
func (t *conversation) where(q *query, r *rowSet) (problem string) {
	for _, cond := range q.where {
		if cond.op == "empty" && cond.field == (fieldRef{}) {
			c := column{layout: r.layout, any: true}
			if r.layout == nil || r.header == nil || !c.wide() {
				return q.partly(q.said[matching])
			}
			r.pipe = r.pipe.then(c.awk(c.keep(cond))...)
			continue
		}
		c, problem := t.column(q, r.layout, cond.field)
		if problem != "" {
			return problem
		}
		if problem := r.unnest(q, c.path); problem != "" {
			return problem
		}
		if c.wide() {
			before := r.pipe
			r.pipe = r.pipe.then(c.awk(c.keep(cond))...)
			if cond.num {
				t.noteStrangers(q, r, before, &c)
			}
			continue
		}
		if cond.op == "empty" || cond.op == "filled" {
			return q.partly(q.said[matching])
		}
		r.pipe = r.pipe.then(r.jq("select(" + c.test(cond, r.root) + ")")...)
	}
	return ""
}

// unnest makes the records that a path leads into the lines: from then on, paths
// begin there.
func (r *rowSet) unnest(q *query, path []string) (problem string) {
	if r.layout == nil || r.json == nil {
		return ""
	}
	last := lastElement(path)
	root := path[:last+1]
	switch {
	case r.root != nil && slices.Equal(r.root, root):
		return ""
	case r.root != nil:
		return q.say("The keys belong to different lists, which I cannot combine.", "キーが別々の配列にあるため、組み合わせられません。")
	}
	r.root = append([]string{}, root...)
	filter := jqSteps(root)
	if !r.json.Loose && len(root) > 0 {
		r.pipe = r.pipe.then("jq", "-c", filter)
	}
	if r.json.Loose {
		r.pipe = r.pipe.then("jq", "-Rc", "fromjson? | "+filter)
	}
	return ""
}

// lastElement is where the last "[]" of a path stands, -1 if it has none.
func lastElement(path []string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == "[]" {
			return i
		}
	}
	return -1
}

// jq is a stage with a filter over the lines that there are: lines of text, or
// records of JSON.
func (r *rowSet) jq(filter string) []string {
	if r.layout != nil && r.json != nil {
		return []string{"jq", "-c", filter}
	}
	return []string{"jq", "-Rr", filter}
}

// expr is a filter that takes the value out of a line.
func (c *column) expr(root []string) string {
	switch {
	case c.json != nil:
		return "(" + jqPath(c.path[len(root):]) + ")"
	case c.level:
		return "(" + levelFilter + ")"
	case c.key != "":
		return `(capture(` + jsonText(`(?:^|\s)`+escapeRegex(c.key)+`="?(?<v>[^\s"]*)`) + `) | .v)`
	case c.form != "":
		return `(match(` + jsonText(c.form) + `) | .string)`
	}
	return "(" + c.fieldsFilter() + " | .[" + itoa(c.index) + `] // "")`
}

// test is a filter that is true for lines that meet a condition.
func (c *column) test(cond condition, root []string) string {
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

// valuesOf adds the stages that make the values of a column of the lines.
func (r *rowSet) valuesOf(q *query, c column) (p pipe, problem string) {
	if c.json == nil {
		return r.pipe.join(c.values()), ""
	}
	if r.root == nil {
		return r.pipe.join(c.values()), ""
	}
	if problem := r.unnest(q, c.path); problem != "" {
		return p, problem
	}
	return r.pipe.then("jq", "-r", jqPath(c.path[len(r.root):])+scalarText), ""
}
