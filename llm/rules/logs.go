package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hako/internal/lazyregexp"
)

// A logStyle is how to find the level and the message in the lines of a log.
type logStyle struct {
	lines   [][]string // stages that keep the lines of the level
	message [][]string // stages that make messages of them
	others  []string   // the stage that keeps the other lines; nil means to invert lines[0]
	mention bool       // there are no levels: lines that mention the word
	fields  bool       // what stands between level and message was left out
	none    bool       // no line is of that level
	access  bool       // it is the log of a web server, which has none
}

// allLevels are the words of all levels but one.
func allLevels(but string) string {
	var list []string
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		if name != but {
			list = append(list, levelSpellings(name))
		}
	}
	return strings.Join(list, "|")
}

// otherLevels are the words of levels that may precede another word for a level in a line.
func otherLevels(but string) string {
	var list []string
	for _, w := range []string{"TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"} {
		if !slices.Contains(strings.Split(levelSpellings(but), "|"), w) {
			list = append(list, w)
		}
	}
	return strings.Join(list, "|")
}

// wordsOf are the words of a level; of none, those of all.
func wordsOf(level string) string {
	if level == "" {
		return allLevels("")
	}
	return levelSpellings(level)
}

// levelFilter is a filter of jq that makes a level of a line.
func levelFilter() string {
	return `first(match("\\b(?:` + allLevels("") + `)\\b|\\[(?:[a-z_]+:)?(?:` + strings.ToLower(allLevels("")) +
		`)\\]|\\blevel=\"?[A-Za-z]+").string) // "(no level)" | gsub("^.*[=:\"]|[\\[\\]]"; "") | ascii_upcase`
}

// style detects how a log writes a level: it looks at lines that have the word in capitals, else at lines that have it
// in any way.
func (t *conversation) style(file, level string) logStyle {
	if isJSON(file) {
		return t.jsonStyle(file, level)
	}
	out := t.runAll(sampleOf(file), from(file).then("grep", "-m", "40", "-wE", wordsOf(level)))
	first, upper := out[0].lines(), out[1].lines()
	without := slices.DeleteFunc(slices.Clone(first), hasLevel)
	switch {
	case isAccess(first) && level != "":
		return logStyle{access: true}
	case level == "" && 2*len(without) > len(first) && !slices.ContainsFunc(first, startsJSON):
		return plainStyle(first)
	}
	if s, found := readStyle(upper, level); found {
		return s
	}
	loose := looseWords(level)
	if level == "ERROR" {
		loose += `|^E[0-9]{4} |"level": ?50`
	}
	any := t.run(from(file).then("grep", "-m", "40", "-iE", loose))
	lower := any.lines()
	if s, found := readStyle(lower, level); found {
		return s
	}
	switch {
	case level == "":
		return plainStyle(first)
	case len(lower) == 0 || mostlyOthers(lower):
		return logStyle{none: true}
	}
	return mentionStyle(level)
}

// looseWords is a regular expression for a level in any spelling.
func looseWords(level string) string {
	loose := `\b(` + strings.ToLower(wordsOf(level)) + `)\b`
	if kana := levelKana(level); kana != "" {
		loose += "|" + kana
	}
	return loose
}

// readStyle recognises the style of lines that have a level somewhere.
func readStyle(sample []string, level string) (s logStyle, ok bool) {
	if j, ok := jsonLineStyle(sample, level); ok {
		return j, true
	}
	for _, form := range textForms {
		token := form.token(wordsOf(level))
		re := regexp.MustCompile(token)
		var rest, seen []string
		for _, line := range sample {
			if m := re.FindStringIndex(line); m != nil && !earlierLevel(line[:m[0]], level) {
				rest = append(rest, line[m[1]:])
				seen = append(seen, spelled(line[m[0]:m[1]], wordsOf(level)))
			}
		}
		if len(rest)*2 >= len(sample) && len(rest) > 0 || len(rest) > 2 {
			slices.Sort(seen)
			return form.styleOf(level, strings.Join(slices.Compact(seen), "|"), rest), true
		}
	}
	return s, false
}

var anyLevel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + allLevels("") + `)\b|\[(?:[a-z_]+:)?(?:` + strings.ToLower(allLevels("")) +
		`)\]|\blevel="?[A-Za-z]+`)
})

// hasLevel reports whether a line has a level.
func hasLevel(line string) bool { return anyLevel().MatchString(line) }

// mostlyOthers reports whether most lines that mention a level have another one: the log has levels, and none of its
// lines is of the level that is asked for.
func mostlyOthers(lines []string) bool {
	n := 0
	for _, s := range lines {
		if hasLevel(s) {
			n++
		}
	}
	return 2*n > len(lines)
}

// earlierLevel reports whether a line has another level before: INFO … ERROR is no error.
func earlierLevel(before, level string) bool { return level != "" && hasLevel(before) }

// spelled finds the word of a level in what was matched, in capitals.
func spelled(match, words string) string {
	match = strings.ToUpper(match)
	best := words
	for w := range strings.SplitSeq(words, "|") {
		if strings.Contains(match, w) && (best == words || len(w) > len(best)) {
			best = w
		}
	}
	return best
}

// A textForm is a way to write a level in a line of text: the regular expression for some words, and the style of a log
// in which they were found.
type textForm struct {
	token func(words string) string
	style func(level, seen string, rest []string) logStyle // nil means plain lines with the token
}

// textForms are tried in this order.
var textForms = []textForm{{logfmtToken, logfmtStyle}, {capitalToken, capitalStyle}, {token: bracketToken},
	{token: glogToken}, {token: colonToken}}

// styleOf is the style of a log with words in this form.
func (f textForm) styleOf(level, seen string, rest []string) logStyle {
	if f.style != nil {
		return f.style(level, seen, rest)
	}
	return logStyle{lines: [][]string{{"grep", "-E", f.token(seen)}}}.after(f.token(seen), rest)
}

func logfmtToken(words string) string {
	return `(^|[[:space:]])(level|lvl|severity)="?(` + strings.ToLower(words) + `|` + words + `)\b`
}

func logfmtStyle(_, seen string, rest []string) logStyle {
	key := "msg"
	if slices.ContainsFunc(rest, func(s string) bool { return strings.Contains(s, " message=") }) {
		key = "message"
	}
	return logStyle{
		lines: [][]string{{"grep", "-E", logfmtToken(seen)}},
		message: [][]string{{"grep", "-E", `[[:space:]]` + key + `=`},
			{"sed", "-E", `s/^.*[[:space:]]` + key + `=("(([^"\\]|\\.)*)"|([^[:space:]]*)).*$/\2\4/`}},
	}
}

func capitalToken(words string) string {
	if !strings.Contains(words, "|") {
		return `\b` + words + `\b`
	}
	return `\b(` + words + `)\b`
}

func capitalStyle(level, seen string, rest []string) logStyle {
	token := capitalToken(seen)
	s := logStyle{lines: [][]string{{"grep", "-wE", seen}}}
	if !strings.Contains(seen, "|") {
		s.lines[0][1] = "-w"
	}
	if level != "" {
		s.others = []string{"sed", "-E", `/\b(` + otherLevels(level) + `)\b.*` + token + `/b;/` + token + `/d`}
		s.lines = append(s.lines, []string{"grep", "-vE", `\b(` + otherLevels(level) + `)\b.*` + token})
	}
	return s.after(token, rest)
}

func bracketToken(words string) string { return `\[([a-z_]+:)?(` + strings.ToLower(words) + `)\]` }

// glogToken matches the level by its first letter: E0131 12:00:00.000000 1 a.go:1]
func glogToken(words string) string {
	letter := words[:1]
	if strings.Contains(words, "DEBUG|") {
		letter = "[IWEF]"
	} else if strings.Contains(words, "WARN") && strings.Contains(words, "ERR") {
		letter = "[EW]"
	}
	return `^` + letter + `[0-9]{4} [^]]*\]`
}

func colonToken(words string) string {
	words = strings.ToLower(words)
	return `(^|[[:space:]])(` + words + `|` + capitalised(words) + `):`
}

func capitalised(words string) string {
	list := strings.Split(words, "|")
	for i, w := range list {
		list[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(list, "|")
}

// prefixes may be between the level and the message. Each is removed if all lines of the sample have it.
var prefixes = []string{
	`^[0-9]+ +-+ +\[[^]]*\] +[^ ]+ +: +`, // pid --- [thread] class :
	`^\[[^]]*\] *`,                       // [thread]
	`^[A-Za-z_$][A-Za-z0-9_$]*([.][A-Za-z0-9_$]+)+(:[0-9]+)? *[-:|]+[[:space:]]+`, // package.Class -
	`^[A-Za-z_][A-Za-z0-9_.-]* +- +`,                                              // logger -
	`^[0-9]+#[0-9]+: ([*][0-9]+ )?`,                                               // pid#tid: *connection
	`^[A-Za-z0-9_/.-]+[.][a-z]+:[0-9]+:?[[:space:]]+`,                             // file.go:12
	`^\[[^]]*\] *`,
	`^[A-Za-z][A-Za-z0-9_.-]* +([A-Za-z0-9_.-]+=[^ ]* +)+`, // host key=value
	`^([A-Za-z0-9_.-]+=[^ ]* +)+`,                          // key=value
}

// separators may follow the level or a prefix.
const separators = `[]):|,>[:space:]-]*`

// after completes a style: the message is what follows the level. The first level in a line counts, so it is marked by
// a newline, which no line has.
func (s logStyle) after(token string, rest []string) logStyle {
	script := `s/` + token + `/\n/; s/^[^\n]*\n` + separators + `//`
	trim := regexp.MustCompile(`^` + separators)
	for i := range rest {
		rest[i] = trim.ReplaceAllString(rest[i], "")
	}
	for _, prefix := range prefixes {
		re := regexp.MustCompile(prefix)
		left := make([]string, len(rest))
		all := true
		for i, line := range rest {
			left[i] = re.ReplaceAllString(line, "")
			all = all && left[i] != line && left[i] != ""
		}
		if all {
			rest, s.fields = left, true
			script += `; s%` + prefix + `%%`
		}
	}
	if pythonStyle(rest) {
		s.fields = true
		script += `; s/^[a-z_][A-Za-z0-9_.]*:([^ ])/\1/`
	}
	s.message = [][]string{{"sed", "-E", script}}
	return s
}

var loggerName = lazyregexp.New(`^[a-z_][A-Za-z0-9_.]*:[^ ]`)

// pythonStyle reports whether all lines have a logger's name: ERROR:root:text.
func pythonStyle(rest []string) bool {
	return !slices.ContainsFunc(rest, func(s string) bool { return !loggerName.Get().MatchString(s) })
}

const timestampForm = `^\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9:.,]+(Z|[+-][0-9:]+)?\]? *`

// mentionStyle is for lines without levels.
func mentionStyle(level string) logStyle {
	return logStyle{
		mention: true,
		lines:   [][]string{{"grep", "-iE", looseWords(level)}},
		message: [][]string{{"sed", "-E", `s%` + timestampForm + `%%`}},
	}
}

var (
	levelKeys = []string{"level", "severity", "lvl", "levelname", "log_level", "loglevel", "log.level", "@level",
		"level_name"}
	messageKeys = []string{"message", "msg", "text", "event", "@message", "short_message", "body", "error", "err"}
)

// jsonLineStyle recognises lines that are objects of JSON.
func jsonLineStyle(sample []string, level string) (s logStyle, ok bool) {
	for _, line := range sample {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) != nil {
			continue
		}
		l, m := firstKey(v, levelKeys), firstKey(v, messageKeys)
		if l == "" {
			continue
		}
		s.lines = [][]string{{"jq", "-Rc", `fromjson? | objects | ` + levelSelect(jqKey(l), level)}}
		if m != "" {
			s.message = [][]string{{"jq", "-r", jqPath([]string{m}) + scalarText}}
		}
		return s, true
	}
	return s, false
}

func firstKey(v map[string]any, names []string) string {
	for _, name := range names {
		for key := range v {
			if strings.EqualFold(key, name) {
				return key
			}
		}
	}
	return ""
}

// levelSelect is a filter that keeps the objects of a level.
func levelSelect(key, level string) string {
	if level == "" {
		return "."
	}
	return `select(` + key + ` | tostring | test("^(` + strings.ToLower(levelSpellings(level)) + `|` + levelNumbers(level) +
		`)$"; "i"))`
}

// jsonStyle is for files that are JSON as a whole: a list of objects, or one after the other.
func (t *conversation) jsonStyle(file, level string) (s logStyle) {
	l := t.lookJSON(file, false)
	var levelPath, messagePath []string
	for _, p := range l.json.Paths {
		if levelPath == nil && isKey(p, levelKeys) {
			levelPath = p
		}
	}
	for _, name := range messageKeys {
		for _, p := range l.json.Paths {
			if messagePath == nil && isKey(p, []string{name}) && len(p) == len(levelPath) {
				messagePath = p
			}
		}
	}
	if levelPath == nil {
		return logStyle{none: true}
	}
	n := len(levelPath) - 1
	s.lines = [][]string{{"jq", "-c", jqSteps(levelPath[:n]) + " | " + levelSelect(jqKey(levelPath[n])+"?", level)}}
	if messagePath != nil {
		s.message = [][]string{{"jq", "-r", jqPath(messagePath[n:]) + scalarText}}
	}
	return s
}

func isKey(path, names []string) bool {
	n := len(path) - 1
	return n >= 0 && n <= 2 && slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(path[n], s) })
}

// sameButNumbers are the replacements that make messages equal which differ only in numbers and ids.
var sameButNumbers = []struct{ form, to string }{
	{`\b(0x)?[0-9a-fA-F-]*[0-9][0-9a-fA-F-]{7,}\b`, "#"},
	{`\b[0-9]+([.][0-9]+)*(ms|us|ns|s|m|h|[KMGkmg]B)?\b`, `#\2`},
}

// withoutNumbers is the stage that applies them.
func withoutNumbers() []string {
	var parts []string
	for _, c := range sameButNumbers {
		parts = append(parts, "s/"+c.form+"/"+c.to+"/g")
	}
	return []string{"sed", "-E", strings.Join(parts, "; ")}
}

// withoutNumbersIn is the same for a text that is here already.
func withoutNumbersIn(s string) string {
	for _, c := range sameButNumbers {
		s = regexp.MustCompile(c.form).ReplaceAllString(s, strings.ReplaceAll(c.to, `\2`, "${2}"))
	}
	return s
}

// levelWord is the word for a level that lines mention.
func (q *query) levelWord() string {
	word := strings.ToLower(q.level)
	if kana := levelKana(q.level); kana != "" && q.lang == ja {
		word += " / " + kana
	}
	return word
}
