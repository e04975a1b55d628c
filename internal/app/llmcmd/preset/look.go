package preset

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// looks are compiled on first use: most commands need none.
type looks struct {
	hunk, edit, entry, declares, runs *regexp.Regexp
}

var looksOf = sync.OnceValue(func() looks {
	return looks{
		hunk:     regexp.MustCompile(`^@@+ -\d+(,\d+)? .*\+\d+(,\d+)? @@`),
		edit:     regexp.MustCompile(`^\d+(,\d+)?[acd]\d+(,\d+)?$`),
		entry:    regexp.MustCompile("^" + either(entries[:])),
		declares: regexp.MustCompile(`^\s*` + either(declarations[:])),
		runs:     regexp.MustCompile(either(statements[:])),
	}
})

func either(parts []string) string { return "(?:" + strings.Join(parts, "|") + ")" }

// entries match the beginning of log lines.
var entries = [...]string{
	`\W{0,2}\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?[T ]?\d{1,2}[:時]\d{2}`, // 2026-01-31 09:00, [2026/1/31 9:00
	`[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} `,                      // Jan  1 09:00:00 host
	`\W?\d{2}:\d{2}:\d{2}[.,]\d{3}`,                                 // 09:00:00.123
	`\S+ \S+ \S+ \[\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}`,           // 10.0.0.1 - - [31/Jan/2026:09:00
	`[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.`,                               // E0131 09:00:00.123456
	`\W?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]`,
	`(?:\w+=\S+ )*level=\w`,
}

// declarations match what only programs contain.
var declarations = [...]string{
	`package [\w.]+;?$`,
	`import (?:[\w.*]+(?: as \w+)?;?|[\w{*].* from ["'].*|["(].*)$`, `from [\w.]+ import `,
	`#\s*include\s*[<"]`, `#\s*define \w`, `using [\w.:= ]+;$`, `use [\w:{}, ]+;$`, `namespace [\w.:\\]+ ?[{;]`,
	`(?:(?:pub(?:\(\w+\))?|export|default|async|static|public|private|protected|abstract|final|override|inline|const|unsafe|unsigned) )*` +
		`(?:func|fn|def|function|class|interface|struct|enum|trait|impl|module|type|void|int|bool|char|double|float|long|auto)\b[^.。]*[{;]$`,
	`def \w+\(.*:$`, `class \w+(?:\(.*\))?:$`, `func (?:\(.*\) )?\w+\(`, `def \w+$`,
	`(?:export )?(?:const|let|var|val) [\w$,{}\[\] :]+ = `,
	`\w+\(\) ?\{$`, `if \[.*; ?then$`, `(?:if|for|while|switch|foreach) ?\(.*\) ?\{$`,
	`for \w+(?:, ?\w+)* in .*:$`, `(?:if|while) .*[=<>(].*:$`,
	`(?i:create (?:or replace )?(?:table|view|function|index|procedure) \w|select .+ from \w|insert into \w|alter table \w)`,
}

// statements match other lines of programs.
var statements = [...]string{`[{};]$`, `^\s*(?://|# |--|/?\*)`, `\w\([^)]*\)[;:,]?$`, `\(\)`, `\w := `,
	`^\s*[\w.$\[\]]+ [-+*/|]?= `, `^\s*return\b`, `^\s*(?:end|fi|done|else:?|esac)$`}

// isDiff recognizes unified, context and normal diffs.
func isDiff(text []string) bool {
	l := looksOf()
	for i, line := range text {
		next := func(n int, begins string) bool { return i+n < len(text) && strings.HasPrefix(text[i+n], begins) }
		switch {
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "diff --cc "):
			return true
		case strings.HasPrefix(line, "--- ") && next(1, "+++ ") && (i+2 == len(text) || l.hunk.MatchString(text[i+2])):
			return true
		case strings.HasPrefix(line, "*** ") && next(1, "--- ") && (i+2 == len(text) || next(2, "****")):
			return true
		case l.edit.MatchString(line) && (next(1, "< ") || next(1, "> ")):
			return true
		case i == 0 && l.hunk.MatchString(line):
			return true
		}
	}
	return false
}

func isScript(text []string) bool {
	return len(text) > 0 && (strings.HasPrefix(text[0], "#!") || strings.HasPrefix(text[0], "<?php"))
}

// isJSON reports whether a head is a JSON object or list, possibly truncated, or several values.
func isJSON(head []byte) bool {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(head))
	for tokens := 0; ; tokens++ {
		_, err := d.Token()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return tokens >= 2 // a lone brace is not enough
		default:
			return false
		}
	}
}

func isMarkup(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) }

// isLog reports whether at least a third of the lines begin like log lines.
func isLog(text []string) bool {
	n := 0
	for _, line := range text {
		if looksOf().entry.MatchString(line) {
			n++
		}
	}
	return n > 0 && n >= min(2, len(text)) && n*3 >= len(text)
}

// isTable reports whether all lines have the same number of fields.
func isTable(text []string) bool {
	if len(text) > 3 {
		text = text[:len(text)-1] // may be truncated
	}
	return slices.ContainsFunc([]byte("\t,;"), func(by byte) bool { return divides(text, by) })
}

// divides reports whether a character separates the fields of every line.
func divides(text []string, by byte) bool {
	fields := 0
	for i, line := range text {
		n, spaced := count(line, by)
		switch {
		case n == 0, i > 0 && n != fields:
			return false
		case by == '\t' && line[0] == by: // indented
			return false
		case by == ',' && i == 0 && line[len(line)-1] == by, by == ';' && line[len(line)-1] == by: // a verse, a program
			return false
		case by != '\t' && n < 3 && spaced: // a sentence
			return false
		}
		fields = n
	}
	return len(text) >= 3 || len(text) == 2 && (fields > 1 || by == '\t')
}

// count counts a character outside of quotes, and reports whether a space follows it anywhere.
func count(line string, sign byte) (n int, spaced bool) {
	quoted := false
	for i := range len(line) {
		switch line[i] {
		case '"':
			quoted = !quoted
		case sign:
			if !quoted {
				n++
				spaced = spaced || strings.HasPrefix(line[i+1:], " ")
			}
		}
	}
	return n, spaced
}

// isCode reports whether there are declarations, and a third of the lines look like code.
func isCode(text []string) bool {
	declares, like := 0, 0
	for _, line := range text {
		switch l := looksOf(); {
		case l.declares.MatchString(line):
			declares++
			like++
		case l.runs.MatchString(line):
			like++
		}
	}
	return declares > 0 && like >= min(2, len(text)) && like*3 >= len(text)
}
