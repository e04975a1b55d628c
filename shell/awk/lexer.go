package awk

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A lexer cuts the source into words. Whether a slash begins a pattern only
// the parser knows, so it asks for one with [lexer.pattern].
type lexer struct {
	src  string
	pos  int // of the next byte
	line int

	tok   token
	text  string  // of a name or string
	num   float64 // of a number
	start int     // where the word begins
	warn  func(line int, text string)
}

// A syntaxError is raised as a panic inside the parser and caught in [Parse].
type syntaxError struct {
	line, pos int
	why       string
}

func (l *lexer) fail(why string) { panic(&syntaxError{l.line, l.start, why}) }

// next reads the next word into l.
func (l *lexer) next() {
	l.blanks()
	l.start = l.pos
	if l.pos >= len(l.src) {
		l.tok = tEOF
		return
	}
	switch c := l.src[l.pos]; {
	case c == '"':
		l.pos++
		l.tok, l.text = tString, l.str()
	case isDigit(c) || c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		l.number()
	case isLetter(c):
		l.name()
	default:
		l.operator()
	}
}

// blanks skips what stands between words: blanks, comments, continued lines.
func (l *lexer) blanks() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case c == '#':
			n := strings.IndexByte(l.src[l.pos:], '\n')
			if n < 0 {
				n = len(l.src) - l.pos
			}
			l.pos += n
		case c == '\\' && strings.HasPrefix(l.src[l.pos+1:], "\n"):
			l.pos += 2
			l.line++
		case c == '\\' && strings.HasPrefix(l.src[l.pos+1:], "\r\n"):
			l.pos += 3
			l.line++
		default:
			return
		}
	}
}

func (l *lexer) operator() {
	for n := 3; n > 0; n-- {
		if l.pos+n > len(l.src) {
			continue
		}
		if t, ok := operators[n][l.src[l.pos:l.pos+n]]; ok {
			l.tok = t
			l.pos += n
			if t == tNewline {
				l.line++
			}
			return
		}
	}
	switch c := l.src[l.pos]; c {
	case '&', '@', '\'', '`', '\\':
		l.fail("syntax error")
	default:
		r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
		l.fail(fmt.Sprintf("invalid char '%c' in expression", r))
	}
}

func (l *lexer) name() {
	for l.pos < len(l.src) && (isLetter(l.src[l.pos]) || isDigit(l.src[l.pos])) {
		l.pos++
	}
	l.text = l.src[l.start:l.pos]
	if t, ok := keywords[l.text]; ok {
		l.tok = t
		return
	}
	if _, ok := builtins[l.text]; ok {
		l.tok = tBuiltin
		return
	}
	l.tok = tName
	if l.pos < len(l.src) && l.src[l.pos] == '(' {
		l.tok = tFuncName
	}
}

// number reads a constant: decimal, or octal and hexadecimal as in C.
func (l *lexer) number() {
	l.tok = tNumber
	rest := l.src[l.pos:]
	if len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') && isHex(rest[2]) {
		n := 2
		for n < len(rest) && isHex(rest[n]) {
			n++
		}
		l.pos += n
		l.num = wholeNumber(rest[2:n], 16)
		return
	}
	var n int
	l.num, n = parseNumber(rest)
	l.pos += n
	if digits := rest[:n]; len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "01234567") == "" {
		l.num = wholeNumber(digits, 8)
	}
}

func wholeNumber(digits string, base int) float64 {
	n, err := strconv.ParseUint(digits, base, 64)
	if err == nil {
		return float64(n)
	}
	f := 0.0
	for i := range len(digits) {
		f = f*float64(base) + float64(hexValue(digits[i]))
	}
	return f
}

// str reads a string after its opening quote.
func (l *lexer) str() string {
	var b strings.Builder
	for {
		if l.pos >= len(l.src) || l.src[l.pos] == '\n' {
			l.fail("unterminated string")
		}
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == '"':
			return b.String()
		case c != '\\':
			b.WriteByte(c)
		case strings.HasPrefix(l.src[l.pos:], "\n"):
			l.pos++
			l.line++
		case l.pos >= len(l.src):
			b.WriteByte('\\')
		default:
			var warned byte
			l.pos, warned = unescape(&b, l.src, l.pos)
			if warned != 0 {
				l.warn(l.line, fmt.Sprintf("warning: escape sequence `\\%c' treated as plain `%c'", warned, warned))
			}
		}
	}
}

// unescape writes what the escape sequence at pos, behind its backslash,
// stands for and returns the position behind it. A sequence nobody knows
// stands for its letter, which is returned too.
func unescape(b *strings.Builder, s string, pos int) (_ int, unknown byte) {
	c := s[pos]
	if i := strings.IndexByte(`"\abfnrtv`, c); i >= 0 {
		b.WriteByte("\"\\\a\b\f\n\r\t\v"[i])
		return pos + 1, 0
	}
	switch {
	case c >= '0' && c <= '7':
		n := 0
		end := pos
		for end < len(s) && end < pos+3 && s[end] >= '0' && s[end] <= '7' {
			n = n*8 + int(s[end]-'0')
			end++
		}
		b.WriteByte(byte(n))
		return end, 0
	case c == 'x' && pos+1 < len(s) && isHex(s[pos+1]):
		n, end := 0, pos+1
		for end < len(s) && end < pos+3 && isHex(s[end]) {
			n = n*16 + hexValue(s[end])
			end++
		}
		b.WriteByte(byte(n))
		return end, 0
	}
	b.WriteByte(c)
	return pos + 1, c
}

// unescapeAll is unescape for a whole string, as in -v name=value.
func unescapeAll(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for pos := 0; pos < len(s); {
		if s[pos] != '\\' || pos+1 == len(s) {
			b.WriteByte(s[pos])
			pos++
			continue
		}
		pos, _ = unescape(&b, s, pos+1)
	}
	return b.String()
}

// pattern reads a regular expression. The slash that begins it, or the "/="
// that did so, has just been read as a word.
func (l *lexer) pattern() string {
	var b strings.Builder
	if l.tok == tDivAssign {
		b.WriteByte('=')
	}
	bracket := 0 // where the bracket expression began, or 0
	for {
		if l.pos >= len(l.src) || l.src[l.pos] == '\n' {
			l.fail("unterminated regexp")
		}
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == '/' && bracket == 0:
			return b.String()
		case c == '\\' && strings.HasPrefix(l.src[l.pos:], "/"):
			b.WriteByte('/')
			l.pos++
			continue
		case c == '\\' && l.pos < len(l.src) && l.src[l.pos] != '\n':
			b.WriteByte(c)
			c = l.src[l.pos]
			l.pos++
		case c == '[' && bracket == 0:
			if l.closes() {
				bracket = l.pos
			}
		case c == '[' && strings.IndexByte(":.=", l.peek()) >= 0:
			l.pos = l.class(&b)
			continue
		case c == ']' && bracket > 0 && !l.opening(bracket):
			bracket = 0
		}
		b.WriteByte(c)
	}
}

func (l *lexer) peek() byte {
	if l.pos < len(l.src) {
		return l.src[l.pos]
	}
	return 0
}

// closes reports whether a "]" follows on the line: without one a "[" is no
// bracket expression but a mistake the compiler of patterns reports.
func (l *lexer) closes() bool {
	line, _, _ := strings.Cut(l.src[l.pos:], "\n")
	return strings.IndexByte(line, ']') >= 0
}

// opening reports whether the "]" just read is the first member of its bracket.
func (l *lexer) opening(bracket int) bool {
	inside := l.src[bracket : l.pos-1]
	return inside == "" || inside == "^"
}

// class copies a "[:alpha:]" whose bracket was just read.
func (l *lexer) class(b *strings.Builder) int {
	end := strings.Index(l.src[l.pos:], l.src[l.pos:l.pos+1]+"]")
	if end < 1 {
		b.WriteByte('[')
		return l.pos
	}
	b.WriteString(l.src[l.pos-1 : l.pos+end+2])
	return l.pos + end + 2
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || c|32 >= 'a' && c|32 <= 'f' }
func isLetter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' }

func hexValue(c byte) int {
	if isDigit(c) {
		return int(c - '0')
	}
	return int(c|32-'a') + 10
}
