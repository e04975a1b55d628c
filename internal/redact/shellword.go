package redact

import "strings"

// value returns the span of the secret at a position: a shell word with any quoting. If the word is one quoted
// string, its quotes stay. outer is the quote that encloses the word, if any.
func (sc *scanner) value(s string, at int, outer byte) (from, to int) {
	switch {
	case at >= len(s):
		return 0, 0
	case sc.exhausted():
		return at, len(s)
	}
	if strings.HasPrefix(s[at:], keyBegin) {
		if from, to = keyBlock(s, at); to > from {
			return from, to // it has blanks in it
		}
	}
	to = sc.wordEnd(s, at, outer)
	for to > at && s[to-1] == ',' {
		to--
	}
	if isReference(s[at:to]) {
		return 0, 0
	}
	if q := s[at]; isQuote(q) && sc.closing(s, at) >= to-1 {
		at++
		if to > at && s[to-1] == q {
			to--
		}
	}
	if at == to || s[at:to] == Mark {
		return 0, 0
	}
	return at, to
}

// jsonValue is value after a colon, where a quoted string ends at its quote even if more follows:
// {"token":"a","user":"b"}.
func (sc *scanner) jsonValue(s string, at int, outer byte) (from, to int) {
	switch {
	case at < len(s) && isQuote(s[at]) && s[at] != outer:
		return sc.value(s[:min(len(s), sc.closing(s, at)+1)], at, 0)
	case at+1 < len(s) && s[at] == '\\' && isQuote(s[at+1]):
		n := strings.Index(s[at+2:], s[at:at+2])
		if n >= 0 {
			return at + 2, at + 2 + n
		}
		sc.charge(len(s) - at)
	}
	from, to = sc.value(s, at, outer)
	if n := strings.Index(s[from:to], `,"`); n > 0 {
		to = from + n
	}
	return from, to
}

// wordEnd returns where the shell word at a position ends. An unclosed quote at the start of the word extends to
// the end of the text; elsewhere it counts as an apostrophe.
func (sc *scanner) wordEnd(s string, at int, outer byte) int {
	literal := false
	i := at
	defer func() { sc.charge(i - at) }()
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == outer && outer != 0 && i > at && wordEnds(s, i+1):
			return i
		case c == '\\':
			i++
		case isWordBreak(c):
			return i
		case literal:
		case c == '$' || c == '`' || isQuote(c):
			end := sc.closing(s, i)
			if literal = end >= len(s); !literal {
				i = end
			} else if i == at {
				return len(s)
			}
		}
	}
	return len(s)
}

// closing returns where the quote, $(…, ${… or `…` at s[i] ends: i if nothing is opened, len(s) if it is not
// closed.
func (sc *scanner) closing(s string, i int) int {
	switch {
	case s[i] == '\'':
		return sc.until(s, i+1, '\'', false)
	case s[i] == '"':
		return sc.until(s, i+1, '"', true)
	case s[i] == '`':
		return sc.until(s, i+1, '`', true)
	case s[i] != '$' || i+1 >= len(s):
		return i
	}
	switch s[i+1] {
	case '\'':
		return sc.until(s, i+2, '\'', true)
	case '(', '{':
		return sc.brackets(s, i+1)
	}
	return i
}

// until returns the position of the next q, or len(s).
func (sc *scanner) until(s string, i int, q byte, escapes bool) int {
	begin := i
	defer func() { sc.charge(i - begin) }()
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == q:
			return i
		case c == '\\' && escapes:
			i++
		case c == '$' && q == '"' && i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '{'):
			i = sc.brackets(s, i+1)
		}
	}
	return len(s)
}

// brackets returns the position of the bracket that closes the one at s[i]. It counts instead of recursing, since
// hostile text nests deeply. So quotes in brackets do not nest, which errs on the side of a longer secret.
func (sc *scanner) brackets(s string, i int) int {
	depth, begin := 0, i
	defer func() { sc.charge(i - begin) }()
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// isReference reports whether a word only refers to a secret, as $TOKEN and "${TOKEN}" do, or was redacted.
func isReference(word string) bool {
	if n := len(word) - 1; n > 0 && word[0] == '"' && word[n] == '"' {
		word = word[1:n]
	}
	if word == "" || word == Mark || word == "…" || word == "..." {
		return true
	}
	if word[0] != '$' {
		return false
	}
	name := word[1:]
	if n := len(name) - 1; n > 0 && name[0] == '{' && name[n] == '}' {
		name = name[1:n]
	}
	return name != "" && (span(name, isVariableByte) == len(name) || len(name) == 1 && strings.Contains("@*#?!", name))
}

func wordEnds(s string, i int) bool { return i >= len(s) || isWordBreak(s[i]) || s[i] == ',' }

func isQuote(c byte) bool        { return c == '"' || c == '\'' }
func isWordBreak(c byte) bool    { return c <= ' ' || strings.IndexByte(";&|()<>", c) >= 0 }
func isVariableByte(c byte) bool { return isAlphanumeric(c) || c == '_' }
