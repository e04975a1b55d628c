package lenientjson

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func isQuote(c rune) bool {
	return c == '"' || c == '\'' || c == '“' || c == '”' || c == '＂' || c == '‘' || c == '’'
}

// closes reports whether a quote can close another.
func closes(open, c rune) bool {
	switch open {
	case '"', '\'':
		return c == open
	case '“', '”':
		return c == '”' || c == '“' || c == '"'
	case '＂':
		return c == '＂' || c == '"'
	}
	return c == '’' || c == '‘' || c == '\''
}

// place is whether a string is a name, which ends with the first quote, or a value.
type place bool

const (
	inName  place = true
	inValue place = false
)

// quoted parses a quoted string and reports whether it is closed.
func (r *reader) quoted(where place) (string, bool) {
	open, n := r.peek()
	r.at += n
	d := decoder{text: r.text, at: r.at, open: open, where: where, names: r.names, last: true}
	d.run()
	r.at = d.at
	if d.broke {
		r.at = len(r.text) // what follows may be quoted from anywhere
	}
	return d.out.String(), d.done && !d.broke
}

// A decoder decodes a quoted string. Unless last is set, more input may follow, and what is still ambiguous is left for
// later.
type decoder struct {
	text  string // ends with a complete character, unless last is set
	at    int
	open  rune
	where place
	names []string // that end the string if a quote precedes and a colon follows
	last  bool     // the text is all there is
	done  bool     // the closing quote was read, or broke is set
	broke bool     // one of the names came before a closing quote
	out   strings.Builder
}

// run decodes as much as it can.
func (d *decoder) run() {
	for d.at < len(d.text) && !d.done {
		from := d.at
		d.step()
		if d.at == from && !d.done {
			return // still ambiguous
		}
	}
}

// step decodes one character.
func (d *decoder) step() {
	c, n := utf8.DecodeRuneInString(d.text[d.at:])
	switch {
	case c == '\\':
		d.escape()
	case closes(d.open, c):
		d.quote(c, n)
	default:
		d.out.WriteRune(c) // invalid UTF-8 becomes U+FFFD
		d.at += n
	}
}

// quote decides whether a quote is the closing one, or an unescaped one.
func (d *decoder) quote(c rune, n int) {
	ends, known := true, true
	if d.where == inValue {
		ends, known = d.ends(d.at + n)
	}
	if known && !ends {
		r := reader{text: d.text, at: d.at + n}
		d.broke, known = r.comesTo(d.names)
		ends = d.broke
		d.broke = d.broke && (known || d.last)
	}
	switch {
	case !known && !d.last:
		return
	case ends || !known:
		d.done = true
	default:
		d.out.WriteRune(c)
	}
	d.at += n
}

// ends reports whether a quote is the closing one by what follows it: in JSON a comma, a bracket or the end.
func (d *decoder) ends(from int) (ends, known bool) {
	r := reader{text: d.text, at: from}
	newline := r.pass()
	c, n := r.peek()
	rest := d.text[r.at:]
	switch {
	case r.at-from > maxBlanks:
		return true, true
	case n == 0:
		return true, false
	case c == '}' || c == ']' || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
		return true, true
	case c == '/' && len(rest) == 1:
		return false, false
	case c == ',':
		r.at += n
		return r.goesOn()
	case isQuote(c):
		if newline {
			return true, true // the comma is missing
		}
		return r.isName()
	}
	return false, true
}

// pass skips white space and reports whether it had a newline.
func (r *reader) pass() (newline bool) {
	for {
		c, n := r.peek()
		if n == 0 || !blank(c) {
			return newline
		}
		newline = newline || c == '\n'
		r.at += n
	}
}

// goesOn reports whether something follows that JSON can have after a comma.
func (r *reader) goesOn() (yes, known bool) {
	r.pass()
	c, n := r.peek()
	if n == 0 {
		return true, false
	}
	return isQuote(c) || c < utf8.RuneSelf && (strings.ContainsRune("{}[]/#-_", c) || c >= '0' && c <= '9' ||
		c|0x20 >= 'a' && c|0x20 <= 'z'), true
}

// longestName is how far the end of a name is searched.
const longestName = 32

// isName reports whether a quoted name and a colon follow: then the comma before it is missing.
func (r *reader) isName() (yes, known bool) {
	open, n := r.peek()
	r.at += n
	for range longestName {
		c, n := r.peek()
		if n == 0 {
			return true, false
		}
		r.at += n
		if closes(open, c) {
			r.pass()
			c, n := r.peek()
			return c == ':', n > 0
		}
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false, true
		}
	}
	return false, true
}

// maxBlanks is how many bytes of white space are waited for: a quote before more of it is the closing one.
const maxBlanks = 32

// comesTo reports whether one of the names and a colon follow, with or without quotes: then the string before was never
// closed.
func (r *reader) comesTo(names []string) (yes, known bool) {
	r.pass()
	from := r.at
	for c, n := r.peek(); n > 0 && (c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z') && r.at-from <= longestName; c,
		n = r.peek() {
		r.at += n
	}
	word := r.text[from:r.at]
	if r.at == len(r.text) &&
		slices.ContainsFunc(names, func(name string) bool {
			return len(word) < len(name) &&
				strings.EqualFold(name[:len(word)], word)
		}) {
		return true, false
	}
	if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, word) }) {
		return false, true
	}
	if c, n := r.peek(); isQuote(c) {
		r.at += n
	}
	from = r.at
	r.pass()
	c, n := r.peek()
	if r.at-from > maxBlanks {
		return true, true
	}
	return n == 0 || c == ':' || c == '=', n > 0
}

// escapes are the characters with a meaning after a backslash.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/',
	'\'': '\''}

// escape decodes an escape sequence. One that JSON does not have is kept as it is: models forget to double the
// backslashes of regular expressions.
func (d *decoder) escape() {
	rest := d.text[d.at+1:]
	switch {
	case rest == "":
		if d.last {
			d.at++
		}
	case rest[0] == 'u':
		d.unicode()
	case escapes[rest[0]] != 0:
		d.out.WriteByte(escapes[rest[0]])
		d.at += 2
	default:
		d.out.WriteByte('\\')
		d.at++
	}
}

// unicode decodes \u1234 and surrogate pairs.
func (d *decoder) unicode() {
	unit, state := hex4(d.text[d.at:])
	switch {
	case state == short && !d.last:
		return
	case state != good:
		d.out.WriteByte('\\')
		d.at++
		return
	case !utf16.IsSurrogate(unit):
		d.out.WriteRune(unit)
		d.at += 6
		return
	}
	low, state := hex4(d.text[d.at+6:])
	if state == short && !d.last {
		return
	}
	c, n := utf16.DecodeRune(unit, low), 12
	if state != good || c == utf8.RuneError {
		c, n = utf8.RuneError, 6
	}
	d.out.WriteRune(c)
	d.at += n
}

type hexState uint8

const (
	bad   hexState = iota
	short          // it may still become one
	good
)

// hex4 reads \u1234 at the beginning of a text.
func hex4(text string) (rune, hexState) {
	n := min(len(text), 6)
	for i := range n {
		if i < 2 && text[i] != `\u`[i] || i >= 2 && !strings.ContainsRune("0123456789abcdefABCDEF", rune(text[i])) {
			return 0, bad
		}
	}
	if n < 6 {
		return 0, short
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 32)
	if err != nil {
		return 0, bad
	}
	return rune(unit), good
}
