package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
)

// A layout is the format of a file, detected from its first lines.
type layout struct {
	file   string
	json   *jsonLayout
	delim  string     // between columns; " " is any run of spaces; empty means no columns
	header []string   // names of the columns; nil means none
	rows   [][]string // of the first lines, without the header
	lines  []string   // the first lines as they are
	quotes bool       // there are quoted fields
	crlf   bool
	width  int // columns of a quoted table that is converted to tabs; 0 means that it is not converted
}

// sampleLines is the size of the sample.
const sampleLines = 6

// look detects the layout of a file.
func (t *conversation) look(file string) *layout {
	if isJSON(file) {
		return t.lookJSON(file, false)
	}
	quotes := from(file).then("grep", "-c", `"`)
	pipes := []pipe{sampleOf(file)}
	if isTable(file) { // it will be needed: one turn for both
		pipes = append(pipes, quotes)
	}
	out := t.runAll(pipes...)[0]
	l := &layout{file: file, lines: out.lines()}
	if len(l.lines) > 0 && startsJSON(l.lines[0]) {
		return t.lookJSON(file, ext(file) == ".log")
	}
	l.crlf = slices.ContainsFunc(l.lines, func(s string) bool { return strings.HasSuffix(s, "\r") })
	l.split()
	if l.delim == "" || l.delim == " " {
		return l
	}
	if l.quotes = t.number(quotes) > 0; l.quotes {
		l.lines = joinRecords(l.lines)
		l.split()
	}
	if l.quotes && l.delim == "," && len(l.rows)+len(l.header) > 0 {
		l.width = len(l.header)
		for _, row := range l.rows {
			l.width = max(l.width, len(row))
		}
		l.delim, l.quotes = "\t", false
	}
	return l
}

func sampleOf(file string) pipe { return from(file).then("head", "-n", itoa(sampleLines)) }

func ext(file string) string { return strings.ToLower(path.Ext(file)) }

func isJSON(file string) bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson"}, ext(file))
}

func startsJSON(line string) bool {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	return strings.HasPrefix(line, `{"`) || strings.HasPrefix(line, `[{`) || line == "{" || line == "["
}

// split finds the delimiter and the header, and cuts the sample into fields.
func (l *layout) split() {
	lines := make([]string, len(l.lines))
	for i, s := range l.lines {
		lines[i] = strings.TrimSuffix(strings.TrimPrefix(s, "\ufeff"), "\r")
	}
	l.delim = delimiter(ext(l.file), lines)
	if l.delim == "" || len(lines) == 0 {
		return
	}
	l.rows, l.header = nil, nil
	for _, s := range lines {
		l.rows = append(l.rows, l.fields(s))
	}
	if l.hasHeader() {
		l.header, l.rows = l.rows[0], l.rows[1:]
	}
}

// delimiter guesses what separates columns: what every line of a table has equally often. A log may only be cut at
// spaces.
func delimiter(ext string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	table := ext == ".csv" || ext == ".tsv"
	for _, d := range delimiters(ext, lines[0]) {
		n := strings.Count(lines[0], d)
		even := !slices.ContainsFunc(lines, func(s string) bool { return s != "" && strings.Count(s, d) != n })
		if n > 0 && (table || even && len(lines) > 1) {
			return d
		}
	}
	if table {
		return ","
	}
	return " "
}

func delimiters(ext, first string) []string {
	switch ext {
	case ".log":
		return nil
	case ".tsv":
		return []string{"\t"}
	case ".csv":
		list := []string{",", ";", "\t", "|"}
		slices.SortStableFunc(list, func(a, b string) int { return strings.Count(first, b) - strings.Count(first, a) })
		return list
	}
	return []string{"\t", ",", ";", "|"}
}

// fields cuts a line into its fields.
func (l *layout) fields(s string) []string {
	if l.delim == " " {
		return strings.Fields(s)
	}
	if !l.quotes {
		return strings.Split(s, l.delim)
	}
	var list []string
	for _, m := range quotedFields(l.delim).FindAllStringSubmatch(l.delim+s, -1) {
		if m[1] != "" {
			list = append(list, strings.ReplaceAll(m[2], `""`, `"`))
		} else {
			list = append(list, m[3])
		}
	}
	return list
}

func quotedFields(delim string) *regexp.Regexp {
	d := regexp.QuoteMeta(delim)
	return regexp.MustCompile(d + `(?:("((?:[^"]|"")*)")|([^` + d + `]*))`)
}

var numberForm = lazyregexp.New(`^\s*-?[0-9][0-9.,]*\s*$`)

// hasHeader guesses whether the first line names the columns: it has no number and no empty field, and is no timestamp.
// Lines cut at spaces have none unless the ones below differ by having numbers.
func (l *layout) hasHeader() bool {
	first := l.rows[0]
	plain := !slices.ContainsFunc(first, func(s string) bool {
		return strings.TrimSpace(s) == "" || numberForm.Get().MatchString(s) || timestamp.Get().MatchString(s)
	})
	if l.delim != " " {
		return plain && len(first) > 0
	}
	if !plain || len(l.rows) < 2 || ext(l.file) == ".log" {
		return false
	}
	return !slices.ContainsFunc(l.rows[1:], func(row []string) bool {
		return len(row) != len(first) || !slices.ContainsFunc(row, numberForm.Get().MatchString)
	})
}

var timestamp = lazyregexp.New(`^\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}`)

// A column is a field of a file: where its values come from.
type column struct {
	*layout
	name  string   // as it is shown
	index int      // from 0, of a table
	path  []string // into JSON; "[]" is every element
	key   string   // of key=value
	form  string   // a regular expression whose matches are the values
	level bool     // the level of a line of a log
	any   bool     // whichever column
}

// column finds the field that a request means. It stops if there is none.
func (q *query) column(l *layout, ref fieldRef) *column {
	c, problem := q.findColumn(l, ref)
	if problem != "" {
		stopWith(problem)
	}
	return c
}

// findColumn finds the field that a request means. The problem says why there is none.
func (q *query) findColumn(l *layout, ref fieldRef) (c *column, problem string) {
	c = &column{layout: l, name: ref.name}
	switch {
	case l.json != nil:
		return c, c.findKey(q, ref)
	case ref.number != 0:
		return c, c.findNumber(q, ref)
	}
	form := knownForm(ref.name)
	if i := bestName(l.header, ref.name); i >= 0 {
		c.index, c.name = i, l.header[i]
	} else if form != "" && l.header == nil {
		c.form = form
	} else if l.header == nil && normal(ref.name) == "level" {
		c.level = true
	} else if c.key = l.keyValue(ref.name); c.key == "" {
		problem = q.noField(l, ref)
	}
	return c, problem
}

// knownForm is the form of things with a name, such as IP addresses; empty if it is none of them.
func knownForm(name string) string { return knownForms(strings.TrimSuffix(normal(name), "s")) }

func (c *column) findNumber(q *query, ref fieldRef) (problem string) {
	if c.delim == "" || len(c.rows) == 0 && c.header == nil {
		return q.noColumns(c.layout)
	}
	width := len(c.header)
	if c.header == nil {
		width = len(c.rows[0])
	}
	c.index = ref.number - 1
	if ref.number < 0 {
		c.index = width - 1
	}
	if c.index >= width {
		return q.say("There is no column %d: %s has only %d columns.", ref.number, c.file, width)
	}
	c.name = itoa(c.index + 1)
	if c.header != nil { // shown, as it may not be one
		c.name += " (" + c.header[c.index] + ")"
	}
	return ""
}

// keyValue looks for name=… in the lines, and returns the name as it is written there.
func (l *layout) keyValue(name string) string {
	if !keyForm.Get().MatchString(name) || l.header != nil {
		return ""
	}
	for _, s := range l.lines {
		for _, m := range pairForm.Get().FindAllStringSubmatch(s, -1) {
			if strings.EqualFold(m[1], name) || strings.EqualFold(m[1]+"s", name) {
				return m[1]
			}
		}
	}
	return ""
}

var (
	keyForm  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	pairForm = lazyregexp.New(`(?:^|\s)([A-Za-z_][A-Za-z0-9_.-]*)=`)
)

// bestName finds the one name that a word means: the same but for case, spaces and plural, else the only one that
// contains it or is contained in it.
func bestName(names []string, word string) int {
	w := normal(word)
	if w == "" {
		return -1
	}
	if i := slices.IndexFunc(names, func(s string) bool { return normal(s) == w }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(names, func(s string) bool { return singular(normal(s)) == singular(w) }); i >= 0 {
		return i
	}
	found := -1
	for i, s := range names {
		name := normal(s)
		if len([]rune(name)) < 2 || len([]rune(w)) < 2 || !strings.Contains(name, w) &&
			(isASCII(w) || !strings.Contains(w, name)) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// normal normalizes a name for comparison.
func normal(s string) string {
	s = strings.ToLower(string(foldedRunes(s)))
	return strings.NewReplacer(" ", "", "_", "", "-", "", "\ufeff", "").Replace(s)
}

func singular(s string) string {
	switch {
	case strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ses"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "ches"):
		return s[:len(s)-2]
	}
	return strings.TrimSuffix(s, "s")
}

// body returns the stages that leave the records only: no header, no carriage returns.
func (l *layout) body() (stages [][]string) {
	if l.width > 0 {
		return [][]string{l.flatten()}
	}
	if l.header != nil {
		stages = append(stages, []string{"tail", "-n", "+2"})
	}
	if l.crlf {
		stages = append(stages, []string{"tr", "-d", "\r"})
	}
	return stages
}

// values returns the stages that make a value a line of records.
func (c *column) values() [][]string {
	n := itoa(c.index + 1)
	switch {
	case c.json != nil:
		return [][]string{c.jsonWords(jqPath(c.path) + scalarText)}
	case c.level:
		return [][]string{{"jq", "-Rr", levelFilter()}}
	case c.form != "":
		return [][]string{{"grep", "-oE", c.form}}
	case c.key != "":
		return [][]string{{"grep", "-oE", "(^|[[:space:]])" + regexp.QuoteMeta(c.key) + `=("[^"]*"|[^[:space:]]*)`},
			{"cut", "-d=", "-f2-"}, {"tr", "-d", `"`}}
	case c.quotes:
		return [][]string{{"jq", "-Rr", c.fieldsFilter() + " | .[" + itoa(c.index) + `] // ""`}}
	case c.delim == " ":
		return [][]string{{"sed", "-E", `s/^[[:space:]]+//; s/[[:space:]]+/ /g`}, {"cut", "-d", " ", "-f", n}}
	case c.delim == "\t":
		return [][]string{{"cut", "-f", n}}
	}
	return [][]string{{"cut", "-d", c.delim, "-f", n}}
}

// fieldsFilter is a filter of jq that makes an array of the fields of a line.
func (l *layout) fieldsFilter() string {
	d := jsonText(l.delim)
	switch {
	case l.quotes:
		class := l.delim
		if class == "\t" {
			class = `\t`
		}
		re := jsonText(regexp.QuoteMeta(l.delim) + `(?:"((?:[^"]|"")*)"|([^` + class + `]*))`)
		return `[` + d + ` + . | match(` + re +
			`; "g") | .captures | if .[0].string then .[0].string | gsub("\"\""; "\"") else .[1].string end]`
	case l.delim == " ":
		return `[splits("[ \t]+") | select(. != "")]`
	}
	return `split(` + d + `)`
}
