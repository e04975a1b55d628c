package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
	"hako/llm"
)

// A language is the language of a request, and so of its answer.
type language uint8

const (
	en language = iota
	ja
)

// longestRequest is the length of the longest request in bytes: a longer one is no simple question.
const longestRequest = 2000

// parse understands a request as far as it can.
func parse(request string, files []llm.File) *query { return parseWith(request, files, nil) }

// parseWith does so with the words of the table that the request is about; nil means none.
func parseWith(request string, files []llm.File, table *tableWords) *query {
	p := newParser(request, files)
	p.q.table = table
	p.findValues(table)
	p.run()
	p.q.settle(p.requestText)
	return p.q
}

// newParser replaces by marks what is not to be read as words.
func newParser(request string, files []llm.File) *parser {
	l := newRequestText(request)
	l.findAtoms(files)
	q := &query{lang: l.language(), request: request, files: files, phrases: map[feature]string{}}
	for _, c := range l.cells {
		if name := l.nameOf(c); name != "" && !slices.Contains(q.named, name) {
			q.named = append(q.named, name)
		}
	}
	if q.lang == ja {
		return &parser{requestText: l, grammar: japanese, q: q}
	}
	return &parser{requestText: l, grammar: english, q: q}
}

func (l *requestText) nameOf(c cell) string {
	if c.r != fileMark {
		return ""
	}
	return l.atoms[c.atom].text
}

// language distinguishes Japanese from English: kana decide, kanji only without English words around them.
func (l *requestText) language() language {
	s, _ := l.view()
	kanji := false
	for _, r := range s {
		if unicode.Is(unicode.Hiragana, r) {
			return ja
		}
		kanji = kanji || unicode.Is(unicode.Han, r) || unicode.Is(unicode.Katakana, r)
	}
	if kanji && len(englishWords.Get().FindAllString(s, 2)) < 2 {
		return ja
	}
	return en
}

var englishWords = lazyregexp.New(
	`\b(?:the|of|in|how|many|show|count|lines|what|sum|average|is|are|from|by|top|list|with|column|values|for|and)\b`)

// onlyKana matches the rest of an inflected word; names are not written so.
var onlyKana = lazyregexp.New(`^\p{Hiragana}+$`)

var ofFile = lazyregexp.New(`(?i)\b(?:from|in|of)\b|の`)

// fileNameForm matches the name of a file that was not granted.
var fileNameForm = lazyregexp.New(
	`^[\pL\pN_~.-][\pL\pN_~./ -]*\.(?i:log|txt|csv|tsv|json|jsonl|ndjson|md|yaml|yml|xml|html?|conf|cfg|ini|toml|sql|out|err|dat|go|py|js|ts|sh|c|h|java|rb|rs|gz|zip|pdf|xlsx?|docx?)$`)

func looksLikeFile(s string) bool { return fileNameForm.Get().MatchString(s) }

// settle interprets what the rules left over, where only one meaning is possible.
func (q *query) settle(l *requestText) {
	q.findMissing()
	if q.impossible != "" {
		q.rest = append(q.rest, unknownWords{text: q.impossible, shown: q.impossible})
	}
	q.settleLevel()
	if q.some(head|tail) && q.n == 0 {
		q.n = 1
	}
	if q.some(head | tail) {
		q.has &^= amount
	}
	if q.lang == ja && q.is(count) && q.some(head|tail|span) && q.some(include|level) {
		q.set(inside) // 最初の50行のERROR
	}
	if q.is(grouped|level) && kindWords(normal(q.by.name)) && !q.about(hasFields) {
		q.has = q.has&^grouped | freq | messages // errors by type
		q.phrases[freq], q.phrases[messages] = q.phrases[grouped], q.phrases[grouped]
	}
	q.settleGather()
	q.settleValues(l)
	q.settleNouns()
	if q.yesNo && !q.some(show|repeats) || q.has == lines || q.has == lines|records {
		q.set(count)
	}
	if len(q.rest) == 1 && q.takesText() && (q.rest[0].isText() || q.latinText(q.rest[0])) {
		q.with = append(q.with, textFilter{text: q.rest[0].text})
		q.phrases[include] = q.rest[0].shown
		q.set(include)
		q.rest = nil
	}
	q.settleDay()
	q.settleOwner()
	q.settleFields()
	if q.counts != "" && q.is(field) && !q.is(unique) {
		q.set(freq)
		q.phrases[freq] = q.counts
	}
	q.settleBare()
	q.settleSetting()
	q.settleLoose()
}

// settleDay treats a date beside a text as another text: "INFO lines on 2026-01-02".
func (q *query) settleDay() {
	if len(q.rest) == 1 && q.rest[0].mark == dateMark && q.rest[0].isText() && q.is(include) && !q.anyText &&
		!q.some(totals|field|top|freq|grouped|exclude) {
		q.with = append(q.with, textFilter{text: q.rest[0].text})
		q.rest = nil
	}
}

// settleOwner treats a word beside a field of JSON as the list it belongs to: "average age of users".
func (q *query) settleOwner() {
	if q.is(totals|field) && len(q.rest) == 1 && q.rest[0].mark == 0 && q.about(isJSON) && q.owner == "" {
		q.owner = q.rest[0].text
		q.rest = nil
	}
}

// settleGather interprets a request for a summary: how many in each group, or how often each occurs.
func (q *query) settleGather() {
	switch {
	case q.summarize == "" || q.some(totals|period|freq|top|repeats):
	case q.is(grouped):
		q.set(count)
		q.phrases[count] = q.summarize
	case !q.is(count) || strings.ContainsAny(q.summarize, "そ"):
		q.set(freq)
		q.phrases[freq] = q.summarize
	}
}

// settleBare understands "names from users.json": a word and a file that has fields, and nothing else.
func (q *query) settleBare() {
	what := strings.HasPrefix(strings.ToLower(q.request), "what ") || strings.HasPrefix(strings.ToLower(q.request),
		"what's ") || q.about(isJSON) && bareQuestion.Get().MatchString(q.request)
	if q.has != 0 || len(q.rest) != 1 || !what && (len(q.named) != 1 || !ofFile.Get().MatchString(q.request)) ||
		!q.about(hasFields) {
		return
	}
	s := q.rest[0]
	if what && strings.HasSuffix(s.text, "s") {
		q.set(unique)
	}
	if s.mark != 0 && s.mark != pathMark && s.mark != quoteMark || len(strings.Fields(s.text)) > 2 {
		return
	}
	q.set(show)
	q.addField(fieldRef{name: s.text, path: s.mark == pathMark, guess: true})
	q.phrases[field] = s.shown
	q.rest = nil
}

// settleSetting understands "what is the port" of a file of settings.
func (q *query) settleSetting() {
	if q.has != 0 || len(q.rest) != 1 || q.rest[0].mark != 0 || !q.about(isSettings) ||
		!settingName.Get().MatchString(q.rest[0].text) || !whatIs.Get().MatchString(q.request) {
		return
	}
	q.with = append(q.with, textFilter{text: `^[[:space:]]*` + regexp.QuoteMeta(q.rest[0].text) + `[[:space:]]*[=:]`,
		regex: true})
	q.set(show | include | anyCase)
	q.rest = nil
}

var (
	settingName = lazyregexp.New(`^[\pL_][\pL\pN_.-]*$`)
	whatIs      = lazyregexp.New(`(?i)^what(?:'s| is)\b|は[?？。]*$|^(?:the )?[\w.-]+[?]*$`)
)

func isSettings(file string) bool {
	return slices.Contains([]string{".ini", ".conf", ".cfg", ".env", ".properties", ".toml", ".yaml", ".yml"}, ext(file))
}

// bareQuestion is a name and nothing else: versionは？
var bareQuestion = lazyregexp.New(`^[\w.-]+は(?:何(?:です)?か?)?[?？。]*$`)

// findMissing moves names of files from the unknown words to missing.
func (q *query) findMissing() {
	q.rest = slices.DeleteFunc(q.rest, func(s unknownWords) bool {
		missing := looksLikeFile(s.text) && (s.mark == 0 || s.mark == quoteMark)
		if missing {
			q.missing = append(q.missing, s.text)
		}
		return missing
	})
}

// settleLevel treats a level in capitals as a text: "ERROR lines" are those with ERROR in them. For the messages of a
// log it stays a level.
func (q *query) settleLevel() {
	if q.levelText == "" || q.some(top|freq|messages|grouped|period|totals) {
		return
	}
	q.with = append(q.with, textFilter{text: q.levelText})
	q.phrases[include] = q.levelText
	q.set(include)
	q.has &^= level
	q.level = ""
}

// settleLoose moves texts that may not be meant as such to the unknown words.
func (q *query) settleLoose() {
	for _, n := range q.without {
		if n.loose && (!q.some(include|level) || q.is(totals) || q.is(level) && (levelNames(strings.ToLower(n.text)) != "" ||
			strings.HasSuffix(n.text, "s"))) {
			q.rest = append(q.rest, unknownWords{text: n.text, shown: q.phrases[exclude]})
		}
	}
}

// takesText reports whether a text to look for fits the query.
func (q *query) takesText() bool {
	return q.some(count|show|find|which|head|tail|lines|numbered|allFiles|level) &&
		!q.some(include|exclude|field|totals|top|freq|grouped|unique|keys|length|differ|onlyIn|common|sorted)
}

func (s unknownWords) isText() bool {
	switch s.mark {
	case quoteMark:
		return s.text != ""
	case dateMark:
		return isoDate.Get().MatchString(s.text)
	case 0:
		return s.textual && !strings.Contains(s.text, " ") && knownForm(s.text) == "" && !dottedPath.Get().MatchString(s.text)
	}
	return false
}

// dottedPath matches a path into JSON without its first dot.
var dottedPath = lazyregexp.New(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$`)

// latinText reports whether a word in Latin letters in a Japanese request is a text: it is, unless the file has fields
// that it may be the name of.
func (q *query) latinText(s unknownWords) bool {
	return q.lang == ja && s.mark == 0 && isASCII(s.text) && (q.is(numbered) || !q.about(hasFields))
}

func hasFields(file string) bool { return isJSON(file) || isTable(file) }

// about reports whether all files that a request can mean are of a kind.
func (q *query) about(kind func(file string) bool) bool {
	names := q.named
	if len(names) == 0 {
		names = grantedNames(q.files)
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !kind(name) })
}

// settleFields treats unknown words as fields, where an answer needs one. Whether the file has such a field is found
// out later.
func (q *query) settleFields() {
	if len(q.rest) == 1 && q.is(top|totals) && !q.is(grouped) { // top 3 products by total price
		q.by = fieldRef{name: q.rest[0].text, guess: true}
		q.set(grouped)
		q.rest = nil
	}
	wants := q.some(totals|top|freq|unique|sorted|show|find|count|period|grouped|matching) &&
		!q.some(field|level|messages|words|chars|size|longest|shortest|keys|differ|onlyIn|common|which|fileList|fileSize|numbered)
	if !wants || len(q.rest) == 0 || len(q.rest) > 3 || len(q.rest) > 1 && !q.is(show) {
		return
	}
	known := !slices.ContainsFunc(q.rest, func(s unknownWords) bool { return knownForm(s.text) == "" })
	if !q.some(totals|top|freq|unique|sorted|period|grouped|matching) && !q.about(hasFields) && !known {
		return // a log has no fields to be shown
	}
	if q.is(lines) && !q.some(unique|sorted) || q.some(include|exclude) && !q.some(totals|top|freq|unique) {
		return
	}
	for _, s := range q.rest {
		if s.mark != 0 && s.mark != quoteMark && s.mark != pathMark || len(strings.Fields(s.text)) > 3 ||
			onlyKana.Get().MatchString(s.text) {
			return
		}
	}
	for _, s := range q.rest {
		q.addField(fieldRef{name: s.text, path: s.mark == pathMark, guess: true})
		q.phrases[field] = s.shown
	}
	q.rest = nil
}

func grantedNames(files []llm.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// ofKindFiles lists the granted files of a kind: log, csv…
func ofKindFiles(files []llm.File, kind string) (names []string) {
	ends := map[string][]string{"text": {".txt", ".md"}, "markdown": {".md"}, "json": {".json", ".jsonl", ".ndjson"},
		"yaml": {".yaml", ".yml"}}[kind]
	if ends == nil {
		ends = []string{"." + kind}
	}
	for _, f := range files {
		if slices.Contains(ends, strings.ToLower(path.Ext(f.Name))) {
			names = append(names, f.Name)
		}
	}
	return names
}
