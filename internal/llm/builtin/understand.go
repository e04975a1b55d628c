package builtin

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hako/internal/llm"
)

// A tongue is the language of a request, and so of its answer.
type tongue uint8

const (
	en tongue = iota
	ja
)

// longestRequest is how many bytes a request may have: what is longer is no
// simple question.
const longestRequest = 2000

// parse understands a request as far as it can.
func parse(request string, files []llm.File) *query {
	l := newLine(request)
	l.findAtoms(files)
	q := &query{tongue: l.tongue(), request: request, files: files, said: map[feature]string{}}
	for _, c := range l.cells {
		if name := l.nameOf(c); name != "" && !slices.Contains(q.named, name) {
			q.named = append(q.named, name)
		}
	}
	p := &parser{line: l, pack: english, q: q}
	if q.tongue == ja {
		p.pack = japanese
	}
	p.run()
	q.settle()
	return q
}

func (l *line) nameOf(c cell) string {
	if c.r != fileMark {
		return ""
	}
	return l.atoms[c.atom].text
}

// tongue tells Japanese from English: kana decide, kanji do unless there are
// English words around them.
func (l *line) tongue() tongue {
	s, _ := l.view()
	kanji := false
	for _, r := range s {
		if unicode.Is(unicode.Hiragana, r) {
			return ja
		}
		kanji = kanji || unicode.Is(unicode.Han, r) || unicode.Is(unicode.Katakana, r)
	}
	if kanji && len(englishWords.FindAllString(s, 2)) < 2 {
		return ja
	}
	return en
}

var englishWords = regexp.MustCompile(`\b(?:the|of|in|how|many|show|count|lines|what|sum|average|is|are|from|by|top|list|with|column|values|for|and)\b`)

// fileNameForm is what a file that was not granted looks like.
var fileNameForm = regexp.MustCompile(`^[\pL\pN_~.-][\pL\pN_~./ -]*\.(?i:log|txt|csv|tsv|json|jsonl|ndjson|md|yaml|yml|xml|html?|conf|cfg|ini|toml|sql|out|err|dat|go|py|js|ts|sh|c|h|java|rb|rs|gz|zip|pdf|xlsx?|docx?)$`)

func looksLikeFile(s string) bool { return fileNameForm.MatchString(s) }

// settle makes sense of what the rules left over, where there is only one.
func (q *query) settle() {
	q.findMissing()
	q.settleLevel()
	if len(q.rest) == 1 && q.takesText() && q.rest[0].isText() {
		q.with = append(q.with, needle{text: q.rest[0].text})
		q.said[include] = q.rest[0].shown
		q.set(include)
		q.rest = nil
	}
	q.settleFields()
	q.settleBare()
	q.settleLoose()
}

// settleBare understands "names from users.json": a word and a file that has
// fields, and nothing else.
func (q *query) settleBare() {
	if q.has != 0 || len(q.rest) != 1 || len(q.named) != 1 || !isJSON(q.named[0]) && !isTable(q.named[0]) {
		return
	}
	s := q.rest[0]
	if s.mark != 0 && s.mark != pathMark && s.mark != quoteMark || len(strings.Fields(s.text)) > 2 {
		return
	}
	q.set(show)
	q.addField(fieldRef{name: s.text, path: s.mark == pathMark, guess: true})
	q.said[field] = s.shown
	q.rest = nil
}

// findMissing takes names of files out of what was not understood.
func (q *query) findMissing() {
	q.rest = slices.DeleteFunc(q.rest, func(s scrap) bool {
		missing := looksLikeFile(s.text) && (s.mark == 0 || s.mark == quoteMark)
		if missing {
			q.missing = append(q.missing, s.text)
		}
		return missing
	})
}

// settleLevel takes a level in capitals for a text: "ERROR lines" are those with
// ERROR in them. For the messages of a log it stays a level.
func (q *query) settleLevel() {
	if q.caps == "" || q.some(top|freq|messages|grouped|period|totals) {
		return
	}
	q.with = append(q.with, needle{text: q.caps})
	q.said[include] = q.caps
	q.set(include)
	q.has &^= level
	q.level = ""
}

// settleLoose gives up on texts that may not be meant as such.
func (q *query) settleLoose() {
	for _, n := range q.but {
		if n.loose && (!q.is(include) || q.is(totals)) {
			q.rest = append(q.rest, scrap{text: n.text, shown: q.said[exclude]})
		}
	}
}

// takesText reports whether a text to look for would make sense.
func (q *query) takesText() bool {
	return q.some(count|show|find|which|head|tail|lines|numbered|allFiles) && !q.some(include|level|field|totals|top|freq|grouped|unique|keys|length|differ|onlyIn|common|sorted)
}

func (s scrap) isText() bool {
	switch s.mark {
	case quoteMark, dateMark:
		return s.text != ""
	case 0:
		return s.textual && !strings.Contains(s.text, " ")
	}
	return false
}

// settleFields takes what is left over for fields, where an answer needs one.
// Whether there is such a field, the file will tell.
func (q *query) settleFields() {
	wants := q.some(totals|top|freq|unique|sorted|show|find|count|period|grouped|matching) && !q.some(field|level|messages|words|chars|size|longest|shortest|keys|differ|onlyIn|common|which|fileList|fileSize|numbered)
	if !wants || len(q.rest) == 0 || len(q.rest) > 3 || len(q.rest) > 1 && !q.is(show) {
		return
	}
	if q.is(lines) && !q.some(unique|sorted) || q.some(include|exclude) && !q.some(totals|top|freq|unique) {
		return
	}
	for _, s := range q.rest {
		if s.mark != 0 && s.mark != quoteMark && s.mark != pathMark || len(strings.Fields(s.text)) > 3 {
			return
		}
	}
	for _, s := range q.rest {
		q.addField(fieldRef{name: s.text, path: s.mark == pathMark, guess: true})
		q.said[field] = s.shown
	}
	q.rest = nil
}

func grantedNames(files []llm.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// ofKind lists the granted files of a kind: log, csv…
func ofKindFiles(files []llm.File, kind string) (names []string) {
	ends := map[string][]string{"text": {".txt", ".md"}, "markdown": {".md"}, "json": {".json", ".jsonl", ".ndjson"}, "yaml": {".yaml", ".yml"}}[kind]
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
