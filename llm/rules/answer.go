package rules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"hako/llm"
)

// An intent is a kind of question.
type intent struct {
	name   string
	fits   func(*query) bool
	takes  feature // what it uses; any other feature is not understood
	answer func(*conversation, *query) string
}

// rowFeatures select the lines that a question is about.
const rowFeatures = include | exclude | anyCase | wholeWord | matching | blank | filled | skip | timed | status

// intents are tried in this order.
var intents = []intent{
	{"list the files", has(fileList), fileList | show | count | find | whole | allFiles, listFiles},
	{"file sizes", hasSome(fileSize | biggest), fileSize | biggest | show | allFiles | size | count | whole, sizes},
	{"compare", hasSome(differ | onlyIn | common),
		differ | onlyIn | common | show | find | count | lines | records | allFiles | whole, compare},
	{"which files", has(which), which | include | exclude | anyCase | wholeWord | show | find | count | allFiles,
		whichFiles},
	{"names of columns or keys", has(keys), keys | show | count | find | whole, names},
	{"length of a list", has(length), length | count | records | lines | show | field | whole, listLength},
	{"sums", has(totals), totals | field | grouped | rowFeatures | show | find | top | amount | sorted | descending | ascending | records | lines | numeric | whole, total},
	{"by time", has(period), period | level | messages | rowFeatures | count | freq | show | lines | records, byTime},
	{"messages of a log", isMessages,
		top | freq | least | level | messages | rowFeatures | show | find | count | amount | unique | sorted | descending | lines, topMessages},
	{"most frequent", isFrequency,
		top | freq | least | field | grouped | rowFeatures | show | find | count | amount | lines | words | records | sorted | descending | times | level, frequent},
	{"longest line", hasSome(longest | shortest),
		longest | shortest | rowFeatures | show | find | numbered | count | chars | lines, extremeLine},
	{"how many", has(count),
		count | lines | words | chars | size | times | records | rowFeatures | level | messages | unique | repeats | field | show | find | allFiles | head | tail | span | inside | whole, howManyOf},
	{"show", isShow, show | find | lines | records | rowFeatures | level | messages | unique | repeats | field | grouped | sorted | ascending | descending | numeric | reverse | head | tail | span | inside | amount | numbered | whole | allFiles | top | times, showLines},
}

func has(f feature) func(*query) bool     { return func(q *query) bool { return q.is(f) } }
func hasSome(f feature) func(*query) bool { return func(q *query) bool { return q.some(f) } }

// isMessages reports whether the most frequent messages of a log are wanted.
func isMessages(q *query) bool {
	return q.some(top|freq|least) && q.some(level|messages) && !q.some(field|grouped|words) ||
		q.is(unique) && q.some(messages|level) && !q.some(field|grouped|words)
}

// isFrequency reports whether it is about how often values occur.
func isFrequency(q *query) bool {
	return q.some(freq|least) || q.is(top) && !ranking(q) || q.is(count|grouped)
}

// ranking reports whether rows are to be ranked by a field: top 3 by price.
func ranking(q *query) bool {
	return q.is(grouped) && q.some(top|sorted) && !q.some(freq|count) && !q.byCount
}

func isShow(q *query) bool {
	return q.some(show | find | top | grouped | include | exclude | level | head | tail | span | sorted | reverse | unique | repeats | field | whole | blank | filled | skip | numbered | matching | timed | status)
}

// answer works the answer out, or what has to be called first.
func (t *conversation) answer() string {
	if len(t.request) > longestRequest {
		q := &query{lang: newRequestText(t.request).language()}
		return q.unknown()
	}
	q := parse(t.request, t.files)
	text, _ := t.work(func() string {
		if table := t.tableOf(q); table != nil {
			q = parseWith(t.request, t.files, table)
		}
		return t.reply(q)
	})
	switch {
	case t.failed != nil:
		t.wanted = nil
		return t.failure(q)
	case len(t.wanted) == 0 && text == "":
		return q.unknown()
	case len(t.wanted) == 0:
		return text
	}
	for _, c := range t.wanted {
		if !t.may(c.Name) {
			t.wanted = nil
			return t.stuck(q, commandOf(c))
		}
	}
	return ""
}

// reply chooses the intent.
func (t *conversation) reply(q *query) string {
	if text, ok := t.beforehand(q); ok {
		return text
	}
	if commandForm.Get().MatchString(q.request) {
		return t.pass(q)
	}
	if q.reply != "" {
		return q.reply
	}
	if q.has == 0 && len(q.missing) == 0 {
		return q.unknown()
	}
	if q.clash != "" {
		return q.twoThings()
	}
	for _, in := range intents {
		if !in.fits(q) {
			continue
		}
		if parts := q.notUnderstood(in); len(parts) > 0 {
			return q.partly(parts...)
		}
		if len(q.missing) > 0 {
			return q.notGranted()
		}
		t.checkEncoding(q)
		return in.answer(t, q)
	}
	if len(q.missing) > 0 {
		return q.notGranted()
	}
	return q.unknown()
}

// beforehand answers what does not depend on files.
func (t *conversation) beforehand(q *query) (string, bool) {
	switch {
	case t.found != "":
		return t.wordResults(q, t.found), true
	case q.is(help):
		return q.ability(), true
	case q.web != "" || t.d.Choice.Name == searchTool:
		return t.search(q), true
	case t.d.Choice.Name == listTool && !t.listed, len(q.files) == 0 && !t.listed && t.may(listTool) && q.has != 0 &&
		len(q.missing) == 0:
		t.want(listTool, "{}")
		return "", true
	}
	return "", false
}

// notUnderstood lists the parts of a request that an intent does not use.
func (q *query) notUnderstood(in intent) (parts []string) {
	for _, s := range q.rest {
		parts = append(parts, s.shown)
	}
	for bit := feature(1); bit != 0 && bit <= q.has; bit <<= 1 {
		if q.has&^in.takes&bit == 0 {
			continue
		}
		words := cmp.Or(q.phrases[bit], q.request)
		if !slices.ContainsFunc(parts, func(have string) bool { return strings.Contains(have, words) }) {
			parts = append(parts, words)
		}
	}
	return parts
}

// sources are the files that a request is about. It stops with a question if they are not known.
func (q *query) sources() []string {
	files, question := q.findSources()
	if question != "" {
		stopWith(question)
	}
	return files
}

func (q *query) findSources() (files []string, question string) {
	all := grantedNames(q.files)
	switch {
	case len(all) == 0:
		return nil, q.noFiles()
	case len(q.named) > 0:
		return q.named, ""
	case len(all) == 1, q.some(allFiles | which | fileSize), q.some(find|include) &&
		!q.some(totals|field|top|freq|sorted|unique|repeats|level):
		return all, ""
	case q.is(count) && q.has&^(count|lines|words|chars|size|blank|filled|records|whole) == 0:
		return all, ""
	}
	if of := ofKindFiles(q.files, q.kind); q.kind != "" && len(of) == 1 {
		return of, ""
	}
	return nil, q.whichFile()
}

// source is the one file that a request is about.
func (q *query) source() string {
	file, question := q.findSource()
	if question != "" {
		stopWith(question)
	}
	return file
}

func (q *query) findSource() (file, question string) {
	files, question := q.findSources()
	switch {
	case question != "":
		return "", question
	case len(files) != 1:
		return "", q.oneFile()
	}
	return files[0], ""
}

func (q *query) oneFile() string {
	return q.say("I can do this for one file at a time. Granted are: %s.",
		q.listed(grantedNames(q.files)))
}

// commandOf is the command in the arguments of a call.
func commandOf(c llm.Call) string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(c.Arguments), &in) != nil || in.Command == "" {
		return c.Name
	}
	return in.Command
}
