package rules

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The phrases, words and translations are data. They are parsed when they are first needed: most runs of the program
// never ask this model. A mistake in them is a mistake of the program, so that the parsers panic.
//
//go:embed *.rules *.txt *.po
var data embed.FS

// dataLines returns the lines of a file of data without comments and empty lines.
func dataLines(name string) (list []string) {
	content, err := data.ReadFile(name)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// wordTables are the sections of words.txt. A word of a plain list has no meaning.
var wordTables = sync.OnceValue(func() map[string]map[string]string {
	tables, section := map[string]map[string]string{}, ""
	for _, line := range dataLines("words.txt") {
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			tables[section] = map[string]string{}
			continue
		}
		words, meaning := strings.Fields(line), ""
		if at := strings.LastIndex(line, ": "); at >= 0 {
			words, meaning = strings.Split(line[at+2:], ", "), line[:at]
		}
		for _, word := range words {
			tables[section][word] = meaning
		}
	}
	return tables
})

func wordTable(section string) map[string]string {
	table, ok := wordTables()[section]
	if !ok {
		panic("rules: words.txt has no section " + section)
	}
	return table
}

// wordSet returns a function that reports whether a word is in a section of words.txt.
func wordSet(section string) func(word string) bool {
	return func(word string) bool {
		_, ok := wordTable(section)[word]
		return ok
	}
}

// wordMap returns a function for the meaning of a word in a section of words.txt; an unknown word has none.
func wordMap(section string) func(word string) string {
	return func(word string) string { return wordTable(section)[word] }
}

// partOf returns a function that reports whether a text has one of the words of a section in it.
func partOf(section string) func(text string) bool {
	return func(text string) bool {
		for word := range wordTable(section) {
			if strings.Contains(text, word) {
				return true
			}
		}
		return false
	}
}

var (
	stops           = wordSet("stops")
	hazards         = wordSet("hazards")
	determiners     = wordSet("determiners")
	fillers         = wordSet("fillers")
	latinFillers    = wordSet("latin fillers")
	capitalWords    = wordSet("capital words")
	japaneseNouns   = wordSet("japanese nouns")
	japaneseKinds   = wordSet("japanese kinds")
	largeWords      = wordSet("large")
	questionWords   = wordSet("question words")
	columnWords     = wordSet("column words")
	leadsToColumn   = wordSet("leads to column")
	fieldLeads      = wordSet("field leads")
	fieldStops      = wordSet("field stops")
	fieldNouns      = wordSet("field nouns")
	personalColumns = wordSet("personal columns")
	peopleWords     = wordSet("people")
	quantities      = wordSet("quantities")
	lineNouns       = wordSet("line nouns")
	rowNouns        = wordSet("row nouns")
	noTexts         = wordSet("no texts")
	kindWords       = wordSet("kinds")
	changeVerbs     = wordSet("changes")
	noFieldsJa      = wordSet("totals that are no fields")
	levelNames      = wordMap("levels")
	levelSpellings  = wordMap("level spellings")
	levelNumbers    = wordMap("level numbers")
	levelKana       = wordMap("level kana")
	aggregates      = wordMap("aggregates")
	comparisons     = wordMap("comparisons")
	numberWords     = wordMap("numbers")
	fileKinds       = wordMap("file kinds")
	knownForms      = wordMap("forms")
	saysOften       = partOf("often")
	additive        = partOf("additive")
)

// translations are the answers in Japanese by their English text.
var translations = sync.OnceValue(func() map[string]string {
	all, id := map[string]string{}, ""
	for _, line := range dataLines("answers.po") {
		kind, quoted, _ := strings.Cut(line, " ")
		text, err := strconv.Unquote(quoted)
		switch {
		case err != nil:
			panic("rules: answers.po: " + line)
		case kind == "msgid":
			id = text
		default:
			all[id] = text
		}
	}
	return all
})

// A rule gives a phrase its meaning. All actions must accept a match; then the features are set.
type rule struct {
	pattern *regexp.Regexp
	actions []action
	sets    feature
}

// An action adds what a phrase says to the query. It may refuse a match, and may consume more than the pattern did.
type action func(*parser, *match) bool

// A grammar is what is understood of a language: rules in the order in which they are tried, and a function for the
// words that no rule consumed and that have a meaning.
type grammar struct {
	rules func() []rule
	rest  func(*requestText) []unknownWords
}

var (
	english  = &grammar{sync.OnceValue(func() []rule { return readRules("english.rules") }), englishRest}
	japanese = &grammar{sync.OnceValue(func() []rule { return readRules("japanese.rules") }), japaneseRest}
)

// readRules reads a file of rules; english.rules describes its form.
func readRules(file string) (list []rule) {
	names := map[string]string{"Q": string(quoteMark), "F": string(fileMark), "D": string(dateMark), "P": string(pathMark),
		"H": string(hole)}
	expand := func(pattern string) string {
		return patternName.Get().ReplaceAllStringFunc(pattern, func(s string) string {
			if strings.HasPrefix(s, `\`) { // a class of Unicode
				return s
			}
			meaning, ok := names[strings.Trim(s, "{}")]
			if !ok {
				panic(fmt.Sprintf("rules: %s: %s is not defined", file, s))
			}
			return meaning
		})
	}
	for _, line := range dataLines(file) {
		if name, pattern, ok := strings.Cut(line, "} = "); ok && strings.HasPrefix(line, "{") {
			names[name[1:]] = expand(pattern)
			continue
		}
		meaning, pattern, _ := strings.Cut(line, ": ")
		r := rule{pattern: regexp.MustCompile(expand(pattern))}
		for _, word := range strings.Fields(meaning) {
			r.add(word)
		}
		list = append(list, r)
	}
	return list
}

// add adds a word of a rule's meaning: the name of an action or of a feature, or "-" for nothing.
func (r *rule) add(word string) {
	if do := actions[word]; do != nil {
		r.actions = append(r.actions, do)
		return
	}
	at := slices.Index(strings.Fields(featureNames), word)
	if at < 0 && word != "-" {
		panic("rules: neither an action nor a feature: " + word)
	}
	if at >= 0 {
		r.sets |= 1 << at
	}
}
