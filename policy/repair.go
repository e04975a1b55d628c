package policy

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// repairQuotes helps the parser over two forms that bash takes and it does not:
// arithmetic whose operators come out of variables, $((3 $op 4)), and array
// subscripts that are no arithmetic, m[a.b]. Bash reads both only when they
// are evaluated; quoting the inside says the same to the parser, and the
// interpreter evaluates the quoted text. It returns the changed source, or ""
// if the error is of another kind.
func repairQuotes(src string, err error) string {
	at, ok := offset(err)
	if !ok || at > len(src) {
		return ""
	}
	if from, to, ok := arithmAround(src, at); ok {
		return quoteInside(src, from, to)
	}
	if from, to, ok := subscriptAround(src, at); ok {
		return quoteInside(src, from, to)
	}
	return ""
}

// offset returns where the parser gave up.
func offset(err error) (int, bool) {
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.As(err, &pe):
		return int(pe.Pos.Offset()), true
	case errors.As(err, &le):
		return int(le.Pos.Offset()), true
	}
	return 0, false
}

// quoteInside puts double quotes around src[from:to], unless quotes or
// substitutions in it would come to mean something else.
func quoteInside(src string, from, to int) string {
	inside := src[from:to]
	if strings.TrimSpace(inside) == "" || strings.ContainsAny(inside, "\"'`\\\n") || strings.Contains(inside, "$(") {
		return ""
	}
	return src[:from] + `"` + inside + `"` + src[to:]
}

// arithmAround returns the inside of the $((…)) that the error is in.
func arithmAround(src string, at int) (from, to int, ok bool) {
	open := strings.LastIndex(src[:at], "$((")
	if open < 0 {
		return 0, 0, false
	}
	from = open + len("$((")
	depth := 0
	for i := from; i < len(src); i++ {
		switch src[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return from, i, i >= at && strings.HasPrefix(src[i:], "))")
			}
			depth--
		case '\n':
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// subscriptAround returns the inside of the NAME[…], or of the […]= of an array
// literal, that the error is in.
func subscriptAround(src string, at int) (from, to int, ok bool) {
	open := strings.LastIndexByte(src[:at], '[')
	if open < 1 {
		return 0, 0, false
	}
	n := strings.IndexAny(src[open+1:], "]\n")
	close := open + 1 + n
	if n < 0 || src[close] == '\n' || close < at {
		return 0, 0, false
	}
	literal := (src[open-1] == '(' || src[open-1] == ' ') && strings.HasPrefix(src[close:], "]=")
	return open + 1, close, literal || isNameByte(src[open-1])
}
