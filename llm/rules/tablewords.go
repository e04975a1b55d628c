package rules

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
)

// A tableWords are the words of a table that matter for a request: the names of its columns, and the values that the
// request mentions. "IT" is a word like any other until a table has a department of that name.
type tableWords struct {
	file   string
	header []string
	values []mention
}

// A mention is a value of a table in a request.
type mention struct {
	runes   []rune // folded
	columns []int  // from 0, where it is a value
	spelled []string
}

// tableOf looks at the one table that a request is about; nil if there is none.
func (t *conversation) tableOf(q *query) *tableWords {
	file := q.onlyTable()
	if file == "" || q.has == fileList || q.some(help|fileSize|biggest|differ|onlyIn|common|which) || q.web != "" {
		return nil
	}
	var l *layout
	if _, done := t.work(func() string { l = t.look(file); return "" }); !done {
		t.mentions(q, file, ext(file) == ".tsv") // all in one turn
		t.extra(oddLines(file))
		panic(stop{})
	}
	if l.json != nil || l.header == nil {
		return nil
	}
	out, known := t.mentions(q, file, l.delim == "\t" && l.width == 0)
	t.await()
	g := &tableWords{file: file, header: l.header}
	if known && (l.delim == "," || l.delim == "\t") {
		g.read(out)
	}
	return g
}

// onlyTable is the table that a request is about, if that is certain.
func (q *query) onlyTable() string {
	names := q.named
	if len(names) == 0 {
		names = grantedNames(q.files)
	}
	if len(names) == 1 && isTable(names[0]) {
		return names[0]
	}
	return ""
}

// mentionProgram lists the columns and values that occur in the text r, with how often they do.
const mentionProgram = `NR > 1 {for (i = 1; i <= NF; i++) if ($i != "" && index(r, tolower($i))) n[i "\t" $i]++} END {for (k in n) print k "\t" n[k]}`

// mentions runs the command that lists the values of a table in the request.
func (t *conversation) mentions(q *query, file string, tabs bool) (out output, known bool) {
	option := "--csv"
	if tabs {
		option = `-F\t`
	}
	return t.extra(from(file).then("awk", option, "-v", "r="+awkText(string(foldedRunes(q.request))),
		mentionProgram))
}

// awkText makes a text safe for an assignment of awk, where a backslash has a meaning.
func awkText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\\' || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

func (g *tableWords) read(out output) {
	for _, line := range out.lines() {
		parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		if len(parts) != 3 {
			continue
		}
		if at, err := strconv.Atoi(parts[0]); err == nil && at <= len(g.header) {
			g.add(at-1, strings.TrimSuffix(parts[1], "\r"))
		}
	}
	slices.SortFunc(g.values, func(a, b mention) int {
		return cmp.Or(cmp.Compare(len(b.runes), len(a.runes)), slices.Compare(a.runes, b.runes))
	})
}

// add adds a value, unless it could be a word of the question.
func (g *tableWords) add(column int, value string) {
	folded := foldedRunes(value)
	if !strings.ContainsFunc(value, unicode.IsLetter) && !isoDate.Get().MatchString(value) || len(folded) < 2 &&
		!single(folded[0]) || onlyKana.Get().MatchString(value) && len(folded) < 3 || g.named(value) >= 0 {
		return
	}
	m := g.value(value)
	if m == nil {
		g.values = append(g.values, mention{runes: folded})
		m = &g.values[len(g.values)-1]
	}
	if !slices.Contains(m.columns, column) {
		m.columns = append(m.columns, column)
	}
	if !slices.Contains(m.spelled, value) {
		m.spelled = append(m.spelled, value)
	}
}

// single reports whether one character may be a value: a grade, or 男.
func single(r rune) bool {
	return r >= 'a' && r <= 'z' || unicode.Is(unicode.Han, r) && !strings.ContainsRune("日月年時分秒人名件行列数値個回上下中大小高低前後全各何番位文字語",
		r)
}

// named is the index of the column with this name, ignoring case and plural; -1 means none.
func (g *tableWords) named(name string) int {
	if g == nil {
		return -1
	}
	return slices.IndexFunc(g.header, func(h string) bool {
		return singular(normal(h)) == singular(normal(name)) &&
			normal(name) != ""
	})
}

// findValues puts marks for the values of the table, as if they were quoted.
func (l *requestText) findValues(g *tableWords) {
	if g == nil {
		return
	}
	for i := 0; i < len(l.cells); i++ {
		switch l.cells[i].r {
		case dateMark:
			if !l.partOfSpan(i) && l.quotedValue(i, g) {
				l.cells[i].r = quoteMark
			}
			continue
		case quoteMark:
			l.quotedValue(i, g)
			continue
		}
		if end := l.columnEnd(i, g); end > 0 {
			i = end - 1
			continue
		}
		for j := range g.values {
			m := &g.values[j]
			if end := l.valueEnd(i, m); end > 0 {
				l.mark(quoteMark, i, end, atom{text: m.spelled[0], value: m})
				break
			}
		}
	}
	l.findColumns(g)
}

// columnEnd returns the end of the name of a column at i; 0 means none. A value may be a part of it: open in open_date.
func (l *requestText) columnEnd(i int, g *tableWords) (end int) {
	for _, h := range g.header {
		for _, way := range []string{h, strings.NewReplacer("_", " ", "-", " ").Replace(h)} {
			if name := foldedRunes(way); len(name) > 1 && l.named(i, name) {
				end = max(end, i+len(name))
			}
		}
	}
	return end
}

// partOfSpan reports whether a date is one end of a span: from that day on is not that day.
func (l *requestText) partOfSpan(i int) bool {
	return spanBefore.Get().MatchString(l.spelled(max(0, i-9), i)) ||
		spanAfter.Get().MatchString(l.spelled(i+1, min(len(l.cells), i+8)))
}

var (
	spanBefore = lazyregexp.New(`(?:from|to|until|till|since|after|before|between|and|through|-|~|から) ?$|[<>=] ?$`)
	spanAfter  = lazyregexp.New(`^ ?(?:から|まで|以|より|~|-|to\b|until|and\b|on\b|through)`)
)

// quotedValue sets the value of a text that the table has.
func (l *requestText) quotedValue(i int, g *tableWords) bool {
	a := &l.atoms[l.cells[i].atom]
	if v := g.value(a.text); v != nil {
		a.value = v
		return true
	}
	return false
}

// valueEnd returns the end of a value at i that is a word of its own; 0 means none. A word that the rules know is none,
// unless it is written as in the table, in capitals.
func (l *requestText) valueEnd(i int, m *mention) int {
	end := i + len(m.runes)
	for k, r := range m.runes {
		if l.at(i+k) != r || i+k >= len(l.cells) {
			return 0
		}
	}
	first, last := m.runes[0], m.runes[len(m.runes)-1]
	if isWord(last) && l.at(end) == 's' && !isWord(l.at(end+1)) {
		end++ // apples
	}
	if isWord(last) && l.at(end) == '\'' && l.at(end+1) == 's' && !isWord(l.at(end+2)) {
		end += 2 // Alice's
	}
	if joined(l.at(i-1), first) || joined(last, l.at(end)) || strings.ContainsRune("./", l.at(end)) &&
		isWord(l.at(end+1)) {
		return 0
	}
	written := strings.TrimSpace(l.original(i, i+len(m.runes)))
	if (knownWord(string(m.runes)) || len(m.runes) == 1 && isWord(first)) && !l.spelledOut(i, end, written, m) {
		return 0
	}
	if l.meansFile(end) && (m.is("open") || m.is("read") || m.is("cat")) {
		return 0
	}
	return end
}

// spelledOut reports whether a word is written as in the table, and not like a word of a question: IT, or Max within a
// sentence.
func (l *requestText) spelledOut(i, end int, written string, m *mention) bool {
	if !slices.Contains(m.spelled, written) || written == "I" {
		return false
	}
	return l.caps(i, i+len(m.runes)) && len(m.runes) > 1 || (i > 0 || l.at(end-2) == '\'') &&
		unicode.IsUpper([]rune(written)[0])
}

// meansFile reports whether a file follows at a cell: open the file.
func (l *requestText) meansFile(i int) bool {
	for word, end := l.wordAt(l.skipSpace(i)); ; word, end = l.wordAt(l.skipSpace(end)) {
		switch {
		case word == string(fileMark), word == "file", word == "table", word == "csv", word == "tsv":
			return true
		case word != "the" && word != "this" && word != "my":
			return false
		}
	}
}

func (m *mention) is(word string) bool { return string(m.runes) == word }

// joined reports whether two characters belong to one word.
func joined(a, b rune) bool { return script(a) != 0 && script(a) == script(b) }

// knownWord reports whether a word has a meaning in questions.
func knownWord(word string) bool {
	return fillers(word) || stops(word) || determiners(word) || hazards(word) ||
		questionWords(word) || aggregates(word) != "" || fieldNouns(word) || japaneseNouns(word)
}

// findColumns puts marks for columns whose name has another meaning too, where only a column can be meant: sum of
// total.
func (l *requestText) findColumns(g *tableWords) {
	before := ""
	for i := 0; i < len(l.cells); {
		word, end := l.wordAt(i)
		if end <= i {
			i++
			continue
		}
		at := g.named(word)
		if at >= 0 && columnWords(word) && leadsToColumn(before) && normal(g.header[at]) == normal(word) {
			l.mark(quoteMark, i, end, atom{text: g.header[at]})
			word, end = "", i+1
		}
		if word != "of" && word != "the" && word != "all" && word != "values" {
			before = word
		}
		i = l.skipSpace(end)
	}
}

// valueAt is the value of a table at a cell; nil if there is none.
func (l *requestText) valueAt(i int) *mention {
	if l.at(i) != quoteMark || i < 0 || i >= len(l.cells) {
		return nil
	}
	return l.atoms[l.cells[i].atom].value
}

// valueOf is the same for a text.
func (q *query) valueOf(text string) *mention {
	if q.table == nil {
		return nil
	}
	return q.table.value(text)
}

// value is the value of the table that a text is; nil if it is none.
func (g *tableWords) value(text string) *mention {
	folded := foldedRunes(text)
	at := slices.IndexFunc(g.values, func(m mention) bool { return slices.Equal(m.runes, folded) })
	if at < 0 {
		return nil
	}
	return &g.values[at]
}

// settleValues makes conditions of the values that a request mentions without saying more about them.
func (q *query) settleValues(l *requestText) {
	if q.table == nil {
		return
	}
	q.rest = slices.DeleteFunc(q.rest, func(s unknownWords) bool {
		m := l.valueAt(s.from)
		if s.mark == quoteMark && m != nil && q.is(count) && !q.some(lines|totals|grouped|unique|freq) &&
			q.table.quantity() != "" && normal(s.shown) == normal(m.spelled[0])+"s" {
			q.reply = q.say("Do you mean how many rows there are with %[1]s, or the sum of %[2]s? Please say \"rows\" or \"sum of %[2]s\".", m.spelled[0], q.table.quantity())
		}
		return s.mark == quoteMark && m != nil && q.meansValue(m, "==")
	})
	for i, c := range q.where {
		if m := q.valueOf(c.value); m != nil && c.values == nil && !c.num && (c.op == "==" || c.op == "!=") {
			q.where[i].values = m.spelled
		}
	}
	if saysContain.Get().MatchString(q.request) || q.anyText {
		return
	}
	q.with = slices.DeleteFunc(q.with, func(n textFilter) bool { return q.needleIsValue(n, "==") })
	q.without = slices.DeleteFunc(q.without, func(n textFilter) bool { return q.needleIsValue(n, "!=") })
	if len(q.with) == 0 {
		q.has &^= include
	}
	if len(q.without) == 0 {
		q.has &^= exclude
	}
}

func (q *query) needleIsValue(n textFilter, op string) bool {
	m := q.valueOf(n.text)
	return m != nil && !n.starts && !n.ends && !n.regex && !q.some(anyCase|wholeWord|times|numbered) && q.meansValue(m, op)
}

// meansValue adds a condition. Two values of one column are alternatives; a value of several columns is ambiguous.
func (q *query) meansValue(m *mention, op string) bool {
	if len(m.columns) != 1 {
		var names []string
		for _, c := range m.columns {
			names = append(names, q.table.header[c])
		}
		q.reply = q.say("%s is a value of several columns: %s. Please say which: rows where %s is %s.",
			q.quoted(m.spelled[0]), q.listed(names), names[0], m.spelled[0])
		return true
	}
	ref := fieldRef{name: q.table.header[m.columns[0]]}
	q.set(matching)
	for i, c := range q.where {
		if c.field == ref && c.op == op && c.values != nil {
			q.where[i].values = append(q.where[i].values, m.spelled...)
			q.where[i].value += q.say("values| or ") + m.spelled[0]
			return true
		}
	}
	for _, c := range q.where {
		if eitherOr.Get().MatchString(q.request) && c.field != ref {
			q.reply = q.partly(m.spelled[0])
		}
	}
	q.where = append(q.where, condition{field: ref, op: op, value: m.spelled[0], values: slices.Clone(m.spelled)})
	return true
}

// settleNouns drops words for the rows of a table: orders in orders.csv.
func (q *query) settleNouns() {
	if q.table == nil {
		return
	}
	q.rest = slices.DeleteFunc(q.rest, func(s unknownWords) bool {
		word := normal(s.text)
		if word == "or" && len(q.where) == 1 && len(q.where[0].values) > 1 {
			return true // IT or Sales
		}
		if word == "who" && s.mark == 0 && q.is(matching) && q.table.people() {
			q.set(show)
			return true
		}
		if at := q.table.named(s.text); at >= 0 && s.mark == 0 && q.conditionOn(q.table.header[at]) {
			return true // region Tokyo
		}
		known := s.mark == 0 && (peopleWords(word) && q.table.people() ||
			singular(word) == singular(normal(stem(q.table.file)))) && q.table.named(s.text) < 0
		if known {
			q.set(records)
		}
		return known
	})
}

// conditionOn reports whether a value of a column was mentioned.
func (q *query) conditionOn(name string) bool {
	return slices.ContainsFunc(q.where, func(c condition) bool { return c.values != nil && c.field.name == name })
}

// people reports whether the rows of a table are people.
func (g *tableWords) people() bool {
	return g != nil && slices.ContainsFunc(g.header, func(h string) bool { return personalColumns(normal(h)) })
}

// quantity is the one column that holds a quantity; empty means that there is not exactly one.
func (g *tableWords) quantity() (name string) {
	if g == nil {
		return ""
	}
	for _, h := range g.header {
		if quantities(normal(h)) {
			if name != "" {
				return ""
			}
			name = h
		}
	}
	return name
}

func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

var (
	// saysContain matches words about texts, not about values.
	saysContain = lazyregexp.New(
		`(?i)\bcontain|\binclud|\bmention|\bmatch|\btext\b|\bword|\bstring|\bappear|\boccur|\bstart|\bend|含|マッチ|一致|文字列|単語|始ま|終わ|出て|検索|探`)
	eitherOr = lazyregexp.New(`(?i)\bor\b|または|もしくは|あるいは`)
)
