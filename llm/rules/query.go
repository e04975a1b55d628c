package rules

import (
	"cmp"
	"slices"
	"strings"

	"hako/llm"
)

// A feature is something that a request asks for.
type feature uint64

// The features.
const (
	show       feature = 1 << iota // let me see
	find                           // look for something
	count                          // how many
	lines                          // the unit
	words                          // the unit
	chars                          // the unit
	size                           // bytes
	times                          // occurrences, not lines
	records                        // elements of a list
	top                            // the most frequent ones
	freq                           // how often each
	least                          // the least frequent instead
	unique                         // each only once
	repeats                        // those that occur more than once
	sorted                         // in order
	reverse                        // last one first
	ascending                      // smallest first
	descending                     // largest first
	numeric                        // by value, not by letters
	totals                         // sum, average…: see query.totals
	field                          // see query.fields
	grouped                        // see query.by
	period                         // see query.interval
	matching                       // see query.where
	level                          // see query.level
	messages                       // of a log
	include                        // see query.with
	exclude                        // see query.without
	anyCase                        // capitals do not matter
	wholeWord                      // not as part of a longer word
	numbered                       // with line numbers
	blank                          // empty lines only
	filled                         // no empty lines
	head                           // the first n
	tail                           // the last n
	span                           // see query.spans
	skip                           // without the first n
	amount                         // a bare number: five of them
	keys                           // names of columns or keys
	length                         // of a list
	differ                         // compare files
	onlyIn                         // lines of one file that the other does not have
	common                         // lines that both have
	which                          // files that contain something
	allFiles                       // in every file
	longest                        // line
	shortest                       // line
	fileList                       // what files are there
	fileSize                       // how large are they
	biggest                        // the largest file
	whole                          // everything
	inside                         // the first n are where to look, not what to show
	help                           // what can you do
	timed                          // see query.time
	status                         // see query.status
)

// featureNames are the names of the features in rule files, in their order.
const featureNames = `show find count lines words chars size times records top freq least unique repeats sorted reverse ascending
	descending numeric totals field grouped period matching level messages include exclude anyCase wholeWord
	numbered blank filled head tail span skip amount keys length differ onlyIn common which allFiles longest
	shortest fileList fileSize biggest whole inside help timed status`

// A textFilter is a text that lines contain or not.
type textFilter struct {
	text   string
	starts bool // at the start of the line
	ends   bool // at its end
	regex  bool // a regular expression
	loose  bool // it may not be meant as a text
	dot    bool // a full stop may follow
}

// A fieldRef is the name of a column or a key in a request.
type fieldRef struct {
	name   string // as it was written; empty if it has a number
	number int    // of a column, from 1; -1 is the last
	path   bool   // a path: .a.b
	guess  bool   // it was not called a field
}

// A condition is on the value of a field.
type condition struct {
	field fieldRef
	op    string // == != < <= > >= empty
	value string
	num   bool // value is a number

	values []string // one of these, as the table spells them; nil means value alone
}

// A query is what a request says, as far as it was understood.
type query struct {
	lang    language
	request string
	files   []llm.File // granted
	named   []string   // granted files that the request names, in its order

	has     feature
	phrases map[feature]string // the words that set a feature
	rest    []unknownWords     // what was not understood
	missing []string           // files it names that were not granted
	reply   string             // an answer that needs no files: a question back, or a refusal

	n           int // of top, head, tail, amount
	skipped     int // of skip
	spans       [][2]int
	with        []textFilter
	anyText     bool // one of with is enough
	yesNo       bool // a yes-or-no question
	without     []textFilter
	level       string // ERROR, WARN…
	levelText   string // the level as it was written, in capitals
	exceptLevel bool   // the lines that are not of the level
	fields      []fieldRef
	by          fieldRef
	byCount     bool   // of by: it may mean how often
	interval    string // minute, hour, day
	where       []condition
	totals      []string // sum, average, median, min, max
	only        string   // the file of onlyIn
	web         string   // what to search the web for
	kind        string   // "the log", "the csv": an extension
	impossible  string   // a phrase that contradicts itself
	questions   int      // how often it asks for a number
	clash       string   // two things that do not go together
	often       bool     // of top: frequency is meant
	counts      string   // the phrase that speaks of several numbers
	owner       string   // of a field in JSON: the list that it belongs to
	summarize   string   // the phrase that asks for a summary, in no particular way
	table       *tableWords
	status      string    // of a web server's response: 404, 5..
	time        [2]string // of day, from and to; empty means open
	through     bool      // of time: the end belongs to it
}

// remember keeps the words that set features.
func (q *query) remember(f feature, words string) {
	for bit := feature(1); bit != 0 && bit <= f; bit <<= 1 {
		if f&bit != 0 {
			q.phrases[bit] = strings.TrimSpace(words)
		}
	}
}

func (q *query) set(f feature)       { q.has |= f }
func (q *query) is(f feature) bool   { return q.has&f == f }
func (q *query) some(f feature) bool { return q.has&f != 0 }

// number sets how many are wanted; it refuses a second, different number.
func (q *query) number(n int) bool {
	if q.n != 0 && q.n != n {
		return false
	}
	q.n = n
	return true
}

// addField adds a field once.
func (q *query) addField(f fieldRef) {
	q.set(field)
	if !slices.Contains(q.fields, f) {
		q.fields = append(q.fields, f)
	}
}

// limit is how many are wanted, else the default.
func (q *query) limit(def int) int { return cmp.Or(q.n, def) }

// An unknownWords is a part of a request that no rule understood.
type unknownWords struct {
	text     string // as it is meant
	shown    string // as it was written
	mark     rune   // what it is; 0 means words
	textual  bool   // it can only be meant as a text
	from, to int    // cells
}

// addUnknown adds some cells to a list; words that follow each other are one entry.
func (l *requestText) addUnknown(list []unknownWords, from, to int) []unknownWords {
	s := unknownWords{text: narrow(l.meant(from, to)), shown: l.original(from, to), from: from, to: to,
		textual: l.textual(from, to)}
	if r := l.cells[from].r; isAtom(r) {
		s.mark = r
	}
	if n := len(list) - 1; n >= 0 && s.mark == 0 && list[n].mark == 0 && (list[n].to == from || list[n].to+1 == from &&
		l.cells[list[n].to].r == ' ') {
		list[n].to, list[n].textual = to, list[n].textual || s.textual
		list[n].shown = l.original(list[n].from, to)
		list[n].text = narrow(list[n].shown)
		return list
	}
	return append(list, s)
}
