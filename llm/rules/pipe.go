package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A pipe is a command for execute: files, and the stages they go through. Without files, the first stage names them.
type pipe struct {
	files  []string
	stages [][]string
}

func from(files ...string) pipe { return pipe{files: files} }

// then returns the pipe with one more stage. The words are data: String quotes them.
func (p pipe) then(words ...string) pipe {
	p.stages = append(slices.Clip(p.stages), words)
	return p
}

// join adds all stages of a list.
func (p pipe) join(stages [][]string) pipe {
	p.stages = append(slices.Clip(p.stages), stages...)
	return p
}

// counted returns the pipe with the lines counted at its end. The last line counts even if nothing ends it, which is
// why this is not wc -l.
func (p pipe) counted() pipe {
	n := len(p.stages) - 1
	if n >= 0 && p.stages[n][0] == "grep" && !slices.ContainsFunc(p.stages[n][1:], printsOther) {
		p.stages = slices.Clone(p.stages)
		p.stages[n] = slices.Insert(slices.Clone(p.stages[n]), 1, "-c")
		return p
	}
	return p.then("grep", "-c", "")
}

// printsOther reports whether an option has grep print something else than the lines.
func printsOther(option string) bool { return option == "-o" || option == "-n" || option == "-oE" }

// String spells the command.
func (p pipe) String() string {
	stages := p.stages
	if len(stages) == 0 || len(p.files) > 0 && !takesFiles(stages[0][0], len(p.files)) {
		stages = slices.Insert(slices.Clone(stages), 0, []string{"cat"})
	}
	var b strings.Builder
	for i, words := range stages {
		if i > 0 {
			b.WriteString(" | ")
		}
		for j, w := range words {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(quote(w))
		}
		if i == 0 {
			for _, f := range p.files {
				b.WriteString(" " + quote(operand(f)))
			}
		}
	}
	return b.String()
}

// takesFiles reports whether a command reads so many files as if they were one.
func takesFiles(command string, files int) bool {
	switch command {
	case "tr":
		return false
	case "cat", "sort", "cut", "sed", "jq":
		return true
	}
	return files == 1
}

// operand returns a file name that is not taken for an option.
func operand(name string) string {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "+") {
		return "./" + name
	}
	return name
}

// quote quotes a word for the shell: inside single quotes nothing has a meaning, so that a request cannot inject
// commands.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + quotes.Replace(word) + "'"
}

// quotes escapes what single quotes do not keep: themselves, and a carriage return before a newline, which the parser
// removes.
var quotes = strings.NewReplacer("'", `'\''`, "\r\n", "\r''\n")

func special(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:+@%", r)
	return !plain
}

// filters returns the stages that keep the lines a request is about.
func (q *query) filters() (stages [][]string) {
	for i, n := range q.with {
		if q.anyText {
			if i == 0 {
				stages = append(stages, q.grep(q.with))
			}
			continue
		}
		stages = append(stages, q.grep([]textFilter{n}))
	}
	if len(q.without) > 0 {
		stages = append(stages, slices.Insert(q.grep(q.without), 1, "-v"))
	}
	if q.is(blank) {
		stages = append(stages, []string{"grep", "-E", "^[[:space:]]*$"})
	}
	if q.is(filled) {
		stages = append(stages, []string{"grep", "-vE", "^[[:space:]]*$"})
	}
	return stages
}

// grep returns the stage that finds one of some texts.
func (q *query) grep(list []textFilter) []string {
	words := []string{"grep"}
	regex := slices.ContainsFunc(list, func(n textFilter) bool { return n.regex || n.starts || n.ends })
	switch {
	case regex:
		words = append(words, "-E")
	case slices.ContainsFunc(list, func(n textFilter) bool { return strings.ContainsAny(n.text, regexChars) }):
		words = append(words, "-F")
	}
	if q.is(anyCase) {
		words = append(words, "-i")
	}
	if q.is(wholeWord) {
		words = append(words, "-w")
	}
	if len(list) == 1 && !strings.HasPrefix(list[0].text, "-") {
		return append(words, list[0].pattern(regex))
	}
	for _, n := range list {
		words = append(words, "-e", n.pattern(regex))
	}
	return words
}

// pattern is the pattern of a text for grep.
func (n textFilter) pattern(regex bool) string {
	text := n.text
	if regex && !n.regex {
		text = regexp.QuoteMeta(text)
	}
	if n.starts {
		text = "^" + text
	}
	if n.dot {
		text += "[.]?"
	}
	if n.ends {
		text += "[[:cntrl:]]?$" // lines may end with a carriage return
	}
	return text
}

// regexChars have a meaning in an extended regular expression.
const regexChars = `.[]*^$\+?(){}|`

// window returns the stages that cut out the lines at one end, or by number.
func (q *query) window() [][]string {
	n := strconv.Itoa(q.n)
	switch {
	case q.is(head):
		return [][]string{{"head", "-n", n}}
	case q.is(tail):
		return [][]string{{"tail", "-n", n}}
	case q.is(span):
		return [][]string{{"sed", "-n", spanScript(q.spans)}}
	}
	return nil
}

// spanScript prints lines by number, and stops reading after the last.
func spanScript(spans [][2]int) string {
	var parts []string
	last := 0
	for _, s := range spans {
		switch {
		case s[1] == 0:
			parts, last = append(parts, strconv.Itoa(s[0])+",$p"), -1
		case s[0] == s[1]:
			parts = append(parts, strconv.Itoa(s[0])+"p")
		default:
			parts = append(parts, strconv.Itoa(s[0])+","+strconv.Itoa(s[1])+"p")
		}
		if last >= 0 {
			last = max(last, s[1])
		}
	}
	if last > 0 {
		parts = append(parts, strconv.Itoa(last)+"q")
	}
	return strings.Join(parts, ";")
}
