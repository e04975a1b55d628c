package rules

import (
	"slices"
	"strings"
)

// showLines shows lines, or the values of fields: chosen, sorted, cut.
func showLines(t *conversation, q *query) string {
	files, problem := q.sources()
	switch {
	case problem != "":
		return problem
	case len(files) > mostFiles:
		return q.oneFile()
	case q.is(head) && q.is(tail), q.some(repeats|unique) && q.some(span|skip|grouped):
		return q.twoThings()
	case q.is(top) && !ranking(q):
		return q.topOrFirst()
	case q.is(grouped|field) && q.n == 0 && !q.some(sorted|top|unique|include|exclude|level|numbered) && len(files) == 1,
		q.is(top|field|grouped) && len(files) == 1:
		return t.eachGroup(q, files[0])
	case q.is(top | field):
		return q.rowsOrTotals()
	}
	if len(files) > 1 && q.is(include) && !q.some(field|sorted|unique|repeats) {
		q.set(numbered)
	}
	var parts []string
	whole := true
	for _, f := range files {
		text, ok := t.showIn(q, f)
		whole = whole && ok
		parts = append(parts, text)
	}
	if !whole {
		return ""
	}
	return strings.Join(parts, "\n\n")
}

// eachGroup is for "quantity by product" and "top 3 customers by quantity": the
// sums of what can be added up.
func (t *conversation) eachGroup(q *query, file string) string {
	l, ok := t.look(file)
	if !ok {
		return ""
	}
	if l.json != nil || len(q.fields) != 1 {
		return q.rowsOrTotals()
	}
	a, problem := t.column(q, l, q.fields[0])
	b, problem2 := t.column(q, l, q.by)
	if problem != "" || problem2 != "" {
		return strings.TrimSpace(problem + " " + problem2)
	}
	key, value := &b, &a
	if q.is(top) {
		key, value = &a, &b
	}
	if !value.numeric() || key.numeric() || !l.additive(value.name) || !key.wide() {
		return q.rowsOrTotals()
	}
	q.by, q.fields = fieldRef{name: key.name}, []fieldRef{{name: value.name}}
	q.totals = []string{"sum"}
	q.has = q.has&^top | totals | sorted
	return t.totalBy(q, file)
}

// topOrFirst asks what "the top 10 lines" are.
func (q *query) topOrFirst() string {
	return q.say("Do you mean the first %[1]d lines or the %[1]d most frequent lines? Please say \"first\" or \"most frequent\".",
		"先頭の %[1]d 行ですか、それとも最も多く現れる %[1]d 行ですか？「先頭」か「頻出」と書いてください。", q.one(10))
}

// rowsOrTotals asks what "the top 3 products by price" are.
func (q *query) rowsOrTotals() string {
	by := q.by.name
	if q.by.number > 0 {
		by = q.say("column %d", "%d 列目", q.by.number)
	}
	return q.say("Do you mean the rows with the largest %[1]s, or the sum of %[1]s for each %[2]s? Please say \"top %[3]d rows by %[1]s\" or \"top %[3]d %[2]s by total %[1]s\".",
		"%[1]s が大きい行ですか、それとも %[2]s ごとの %[1]s の合計ですか？「%[1]sの大きい順に%[3]d行」か「%[2]sごとの%[1]sの合計を大きい順に%[3]d件」と書いてください。", by,
		q.fields[0].name, q.one(10))
}

func (t *conversation) showIn(q *query, file string) (text string, ok bool) {
	p, notes, problem, ok := t.shown(q, file)
	if !ok || problem != "" {
		return problem, ok
	}
	out, ok := t.run(p.String())
	if !ok {
		return "", false
	}
	lines := out.lines()
	total, known, ok := t.totalLines(p, out)
	extra, ok2 := t.otherCase(q, file, len(lines))
	if !ok || !ok2 {
		return "", false
	}
	if len(lines) == 0 {
		return q.nothing(file, notes, extra), true
	}
	if q.is(field) && len(lines) == 1 && !out.Cut {
		return lines[0] + q.say(" ", "") + q.of(file, notes...), true
	}
	text = block(lines) + "\n" + q.summary(file, notes, lines, out, total, known)
	if garbled(lines) {
		text += "\n\n" + q.unreadable(file)
	}
	return text, true
}

// numberedTakes are what can be said about lines that are shown with their
// numbers.
const numberedTakes = numbered | show | find | lines | include | exclude | anyCase | wholeWord | blank | filled | head | tail | span | inside | whole | allFiles | times

// shown puts together the command that shows what is wanted of a file.
func (t *conversation) shown(q *query, file string) (p pipe, notes []string, problem string, ok bool) {
	if q.is(numbered) && q.has&^numberedTakes == 0 {
		if !q.is(inside) {
			notes = q.windowText()
		}
		return q.numberedLines(file), notes, "", true
	}
	r, problem, ok := t.rows(q, file)
	if !ok || problem != "" {
		return p, nil, problem, ok
	}
	if q.is(numbered) {
		if q.lacks || r.style.lines == nil || r.style.lines[0][0] != "grep" || q.has&^(numberedTakes|level|messages) != 0 ||
			q.is(inside) {
			return p, nil, q.partly(q.said[numbered]), true
		}
		return q.numberedStages(r.style.lines, file), r.notes, "", true
	}
	if r.style.none {
		return from(file).then("grep", "-E", `\b(`+levelWords[q.level]+`)\b`), r.notes, "", true
	}
	if problem, note := t.records(q, &r); problem != "" {
		return p, nil, problem, true
	} else if note != "" {
		r.notes = append(r.notes, note)
	}
	p, notes = r.pipe, r.notes
	if q.is(grouped) {
		if p, problem, ok = t.sortedBy(q, &r); !ok || problem != "" {
			return p, nil, problem, ok
		}
		notes = r.notes
	}
	if q.is(field) {
		var names []string
		if p, names, problem, ok = t.picked(q, &r, p); !ok || problem != "" {
			return p, nil, problem, ok
		}
		notes = append(notes, names...)
	} else {
		p = r.written(p)
	}
	p, more := q.arranged(p)
	return p, append(notes, more...), "", true
}

// records makes a list of JSON that was asked for the lines: "users where …"
// are its elements.
func (t *conversation) records(q *query, r *rowSet) (problem, note string) {
	if len(q.fields) != 1 || r.layout == nil || r.json == nil {
		return "", ""
	}
	c, problem := t.column(q, r.layout, q.fields[0])
	if problem != "" || r.json.kindAt(c.path) != "array" {
		return problem, ""
	}
	q.has &^= field
	return r.unnest(q, append(slices.Clone(c.path), "[]")), c.label(q)
}

// picked takes the fields that are wanted out of the lines.
func (t *conversation) picked(q *query, r *rowSet, p pipe) (_ pipe, names []string, problem string, ok bool) {
	var cols []column
	for _, ref := range q.fields {
		c, problem := t.column(q, r.layout, ref)
		if problem != "" {
			return p, nil, problem, true
		}
		cols = append(cols, c)
		names = append(names, c.label(q))
	}
	cols, names = withoutOwners(cols, names)
	if len(cols) == 1 && cols[0].numeric() {
		q.set(numeric)
	}
	r.pipe = p
	if len(cols) == 1 {
		p, problem = r.valuesOf(q, cols[0])
		return p, names, problem, true
	}
	for _, c := range cols {
		if problem := r.unnest(q, c.path); problem != "" {
			return p, nil, problem, true
		}
	}
	var exprs []string
	for _, c := range cols {
		exprs = append(exprs, "("+c.expr(r.root)+` | tostring) // ""`)
	}
	filter := "[" + strings.Join(exprs, ", ") + `] | join("  ")`
	if r.json != nil {
		return r.pipe.then("jq", "-r", filter), names, "", true
	}
	return r.pipe.then("jq", "-Rr", filter), names, "", true
}

// withoutOwners leaves out lists of which other fields are asked for: in "names
// of users" the list only says where the names are.
func withoutOwners(cols []column, names []string) (kept []column, labels []string) {
	for i, c := range cols {
		owner := slices.ContainsFunc(cols, func(d column) bool {
			return len(d.path) > len(c.path) && c.json != nil && slices.Equal(d.path[:len(c.path)], c.path)
		})
		if !owner {
			kept, labels = append(kept, c), append(labels, names[i])
		}
	}
	return kept, labels
}

// arranged adds the stages for order and cut.
func (q *query) arranged(p pipe) (_ pipe, notes []string) {
	switch {
	case q.is(repeats):
		p = p.then("sort", "-f").then("uniq", "-cdi").then("sort", "-rn")
		if !q.is(anyCase) {
			p.stages[len(p.stages)-3], p.stages[len(p.stages)-2] = []string{"sort"}, []string{"uniq", "-cd"}
		}
		notes = append(notes, q.say("lines that occur more than once, with how often", "2 回以上現れる行と回数"))
	case q.is(unique) && !q.is(sorted):
		p = p.then(append([]string{"sort"}, q.sortOptions(false)...)...)
		notes = append(notes, q.say("each only once, sorted", "重複を除いて整列"))
	}
	if q.is(sorted) && !q.is(grouped) {
		p = p.then(append([]string{"sort"}, q.sortOptions(q.is(numeric))...)...)
		notes = append(notes, q.order())
	}
	if q.is(reverse) && !q.is(sorted) {
		p = p.then("tac")
		notes = append(notes, q.say("last line first", "最後の行から"))
	}
	if q.is(amount) || ranking(q) && q.n > 0 {
		p = p.then("head", "-n", itoa(q.n))
	}
	if q.is(inside) { // told with the other details
		return p, notes
	}
	return p.join(q.window()), append(notes, q.windowText()...)
}

// sortOptions are the options of sort for the order that is wanted.
func (q *query) sortOptions(numbers bool) (list []string) {
	if numbers {
		list = append(list, "-n")
	}
	if q.is(anyCase) && !q.some(include|exclude) {
		list = append(list, "-f")
	}
	if q.backwards() {
		list = append(list, "-r")
	}
	if q.is(unique) {
		list = append(list, "-u")
	}
	return list
}

// backwards reports whether the largest comes first.
func (q *query) backwards() bool {
	return q.is(descending) || q.is(reverse) || q.is(top) && !q.is(ascending)
}

// order says in what order lines are shown.
func (q *query) order() string {
	if q.backwards() {
		return q.say("sorted in descending order", "降順")
	}
	return q.say("sorted", "昇順")
}

// orderBy says the same for a field. Texts are compared by their letters, which
// need not be what is meant: dates can be written in many ways.
func (q *query) orderBy(name string, numbers bool) string {
	switch {
	case numbers && q.backwards():
		return q.say("by %s, largest first", "%s の大きい順", name)
	case numbers:
		return q.say("by %s, smallest first", "%s の小さい順", name)
	case q.backwards():
		return q.say("by the letters of %s, last first", "%s の文字の逆順", name)
	}
	return q.say("by the letters of %s", "%s の文字順", name)
}

// windowText says which part is shown.
func (q *query) windowText() (list []string) {
	switch {
	case q.is(head) && q.n == 1:
		list = append(list, q.say("the first", "最初の 1 行"))
	case q.is(tail) && q.n == 1:
		list = append(list, q.say("the last", "最後の 1 行"))
	case q.is(head):
		list = append(list, q.say("the first %d", "先頭の %d 行", q.n))
	case q.is(tail):
		list = append(list, q.say("the last %d", "末尾の %d 行", q.n))
	case q.is(span):
		for _, s := range q.spans {
			list = append(list, q.spanText(s))
		}
	}
	return list
}

func (q *query) spanText(s [2]int) string {
	switch {
	case s[1] == 0:
		return q.say("from line %d on", "%d 行目以降", s[0])
	case s[0] == s[1]:
		return q.say("line %d", "%d 行目", s[0])
	}
	return q.say("lines %d to %d", "%d〜%d 行目", s[0], s[1])
}

// sortedBy sorts the lines by a field.
func (t *conversation) sortedBy(q *query, r *rowSet) (p pipe, problem string, ok bool) {
	c, problem := t.column(q, r.layout, q.by)
	if problem != "" {
		return p, problem, true
	}
	numbers := c.numeric() || q.is(numeric)
	r.notes = append(r.notes, q.orderBy(c.name, numbers))
	if numbers && c.wide() && c.delim != " " {
		before := r.pipe
		t.noteStrangers(q, r, before, &c)
		return c.byNumber(r.pipe, q.backwards()), "", true
	}
	if c.simple() {
		key := itoa(c.index+1) + "," + itoa(c.index+1)
		options := slices.DeleteFunc(q.sortOptions(numbers), func(s string) bool { return s == "-u" })
		words := append([]string{"sort", "-s", "-t", c.delim}, options...)
		return r.pipe.then(append(words, "-k", key)...), "", true
	}
	if problem := r.unnest(q, c.path); problem != "" {
		return p, problem, true
	}
	input, result := "-Rrn", ".l"
	if c.json != nil {
		input, result = "-cn", ".l"
	}
	filter := `[inputs | {l: ., k: (` + c.expr(r.root) + ` | tonumber? // .)}] | sort_by(.k)`
	if q.backwards() {
		filter += " | reverse"
	}
	return r.pipe.then("jq", input, filter+" | .[] | "+result), "", true
}

// simple reports whether sort and cut can find the column.
func (c *column) simple() bool {
	return c.json == nil && !c.quotes && c.key == "" && c.form == "" && !c.level && c.delim != " " && c.delim != ""
}

// numeric reports whether the values that were seen are numbers.
func (c *column) numeric() bool {
	if c.json != nil {
		return c.json.kindAt(c.path) == "number"
	}
	seen := false
	for _, row := range c.rows {
		if c.index >= len(row) || row[c.index] == "" {
			continue
		}
		if !numberForm.Get().MatchString(row[c.index]) && !amountForm.Get().MatchString(row[c.index]) {
			return false
		}
		seen = true
	}
	return seen
}

// numberedLines is the command that shows lines with their numbers. Behind the
// first stage, a line begins with its number.
func (q *query) numberedLines(file string) pipe { return q.numberedStages(nil, file) }

// numberedStages does the same behind stages that find the lines of a level; what
// they look for has no place in the line.
func (q *query) numberedStages(first [][]string, file string) pipe {
	stages := q.filters()
	if len(first) > 0 {
		p := from(file).then(slices.Insert(slices.Clone(first[0]), 1, "-n")...).join(first[1:])
		for _, s := range stages {
			p = p.then(behindNumber(s)...)
		}
		return p.join(q.window())
	}
	if q.is(inside) || len(stages) == 0 {
		p := from(file).then("grep", "-n", "")
		p = p.join(q.window())
		for _, s := range stages {
			p = p.then(behindNumber(s)...)
		}
		return p
	}
	p := from(file).then(slices.Insert(stages[0], 1, "-n")...)
	for _, s := range stages[1:] {
		p = p.then(behindNumber(s)...)
	}
	return p.join(q.window())
}

// behindNumber makes a stage of grep look behind the number of a line.
func behindNumber(stage []string) []string {
	regex := slices.ContainsFunc(stage, func(s string) bool { return s == "-E" || s == "-vE" })
	out := []string{"grep"}
	if !regex {
		out = append(out, "-E")
	}
	for i, w := range stage[1:] {
		pattern := i == len(stage)-2 || stage[i] == "-e"
		switch {
		case w == "-F":
		case !pattern:
			out = append(out, w)
		default:
			if !regex {
				w = escapeRegex(w)
			}
			if rest, ok := strings.CutPrefix(w, "^"); ok && regex {
				out = append(out, "^[0-9]+:"+rest)
			} else {
				out = append(out, "^[0-9]+:.*"+w)
			}
		}
	}
	return out
}

// totalLines counts the lines of an answer that did not fit on a page.
func (t *conversation) totalLines(p pipe, out output) (n int, known, ok bool) {
	if !out.Cut {
		return 0, false, true
	}
	count, known, ok := t.extra(p.counted().String())
	return count.number(), known, ok
}

// summary says what was shown.
func (q *query) summary(file string, notes, lines []string, out output, total int, known bool) string {
	about := q.of(file, notes...)
	switch {
	case out.Cut && known:
		return q.say("… cut: the first %d of %d lines are shown %s", "… 長いため途中までです: 全 %[2]d 行のうち先頭の %[1]d 行%[3]s", len(lines),
			total, about)
	case out.Cut:
		return q.say("… cut: the first %d of %d bytes are shown %s", "… 長いため途中までです: 全 %[2]d バイトのうち先頭の %[1]d バイト%[3]s",
			len(out.Out), int(out.Total), about)
	}
	return q.lines(len(lines)) + q.say(" ", "") + about
}

// nothing says that there is no such line.
func (q *query) nothing(file string, notes []string, extra int) string {
	text := q.say("Nothing found %s.", "見つかりませんでした%s。", q.of(file, notes...))
	if slices.ContainsFunc(q.with,
		func(n textFilter) bool { return !n.regex && strings.ContainsAny(n.text, `[]*^$\+?()|`) }) {
		text += q.say(" If a regular expression is meant, say: matching the regex \"…\".",
			" 正規表現として探すには「正規表現「…」に一致する行」と書いてください。")
	}
	if extra > 0 {
		text += q.say(" Ignoring case, there would be %s.", "大文字小文字を区別しなければ %s あります。", q.lines(extra))
	}
	return text
}
