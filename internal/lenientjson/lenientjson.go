// Package lenientjson parses JSON as language models write it: in fences, after reasoning, with trailing or missing
// commas, single or typographic quotes, comments, bare words, unescaped quotes, and truncated.
//
// [Find] returns an object in a text, [MemberStream] streams one member while the text arrives. Valid JSON is parsed
// exactly as by encoding/json. A string of an object is never searched for another object, because it may be a
// quotation. What is truncated is marked as such, because half a command is another command.
package lenientjson

import (
	"strings"
	"unicode/utf8"
)

// largest is the size of the longest text that is parsed.
const largest = 256 << 10

// maxDepth is how deep values may be nested.
const maxDepth = 64

// A Kind is what a value is.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
)

// A Value is a parsed value.
type Value struct {
	Kind    Kind
	Text    string // of a string; of a number as it was written; of a bool true or false
	List    []Value
	Members []Member // in their order; of several with one name the last counts
	Cut     bool     // it is truncated

	at int // of an object the offset of its brace
}

// A Member is a named value of an object.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member with a name.
func (v *Value) Get(name string) (Value, bool) {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Name == name {
			return v.Members[i].Value, true
		}
	}
	return Value{}, false
}

// A reader parses one value from offset at on. It takes linear time.
type reader struct {
	text    string
	at      int
	depth   int
	objects int // that are open
	lists   int
	names   []string // of the answer, see [FindAmong]
	// member is where the string of the wanted member of the outermost object begins; zero means that it was not found.
	wanted string
	member int
	closer rune
}

// peek returns the next character, or zero at the end, with full-width punctuation made ASCII.
func (r *reader) peek() (rune, int) {
	if r.at >= len(r.text) {
		return 0, 0
	}
	c, n := utf8.DecodeRuneInString(r.text[r.at:])
	return narrow(c), n
}

func narrow(c rune) rune {
	switch c {
	case '｛', '｝', '［', '］', '：', '，':
		return c - '｛' + '{'
	case '、':
		return ','
	case 0:
		return utf8.RuneError // zero is the end here
	}
	return c
}

func blank(c rune) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\u3000' || c == '\u00a0' || c == '\ufeff'
}

// skip skips white space and comments.
func (r *reader) skip() {
	for {
		c, n := r.peek()
		switch {
		case n > 0 && blank(c):
			r.at += n
		case c == '#', strings.HasPrefix(r.text[r.at:], "//"):
			r.upTo("\n")
		case strings.HasPrefix(r.text[r.at:], "/*"):
			r.upTo("*/")
		default:
			return
		}
	}
}

func (r *reader) upTo(end string) {
	if i := strings.Index(r.text[r.at:], end); i >= 0 {
		r.at += i + len(end)
	} else {
		r.at = len(r.text)
	}
}

// value parses the next value. It returns false if there is none, or it is nested too deep.
func (r *reader) value() (Value, bool) {
	r.skip()
	c, n := r.peek()
	switch {
	case n == 0 || r.depth == maxDepth:
		r.at = len(r.text) // deeper values are not parsed
		return Value{Cut: true}, false
	case c == '{':
		return r.object(n), true
	case c == '[':
		return r.list(n), true
	case isQuote(c):
		text, whole := r.quoted(inValue)
		return Value{Kind: Text, Text: text, Cut: !whole}, true
	}
	return r.bare(), true
}

func (r *reader) object(open int) (v Value) {
	v.Kind, v.at = Object, r.at
	v.Cut = !r.within(open, '}', func() bool {
		m, ok := r.pair()
		if m.Name != "" || ok {
			v.Members = append(v.Members, m)
		}
		return ok
	})
	return v
}

func (r *reader) list(open int) (v Value) {
	v.Kind = List
	v.Cut = !r.within(open, ']', func() bool {
		e, ok := r.value()
		if ok {
			v.List = append(v.List, e)
		}
		return ok
	})
	return v
}

// within parses elements up to the closing bracket, and reports whether that was found.
func (r *reader) within(open int, closing rune, element func() bool) (whole bool) {
	own, around, stray := &r.objects, &r.lists, ']'
	if closing == ']' {
		own, around, stray = &r.lists, &r.objects, '}'
	}
	r.at += open
	r.depth++
	*own++
	defer func() { r.depth--; *own-- }()
	for {
		r.skip()
		c, n := r.peek()
		switch {
		case n == 0:
			return false
		case c == closing:
			r.at += n
			return true
		case c == stray && *around > 0:
			return true // the closing bracket is missing; this one is that of what is around
		case c == ',' || c == stray || c == ':' || c == '=' && closing == '}':
			r.at += n
		default:
			if !element() {
				return false
			}
		}
	}
}

// pair parses a name and its value.
func (r *reader) pair() (m Member, ok bool) {
	c, n := r.peek()
	whole := true
	if isQuote(c) {
		m.Name, whole = r.quoted(inName)
	} else if m.Name = r.word(); m.Name == "" {
		r.at += n // nothing a name can begin with
		return m, true
	}
	if !whole {
		return Member{}, false
	}
	r.skip()
	if c, n := r.peek(); c == ':' || c == '=' {
		r.at += n
	} else if n > 0 && (c == ',' || c == '}') {
		return m, true // a name alone is null
	}
	r.skip()
	r.meet(m.Name)
	m.Value, ok = r.value()
	return m, ok
}

// meet records where the wanted string begins.
func (r *reader) meet(name string) {
	if r.wanted == "" || r.depth != 1 || name != r.wanted || r.member > 0 {
		return
	}
	if c, n := r.peek(); isQuote(c) {
		r.member, r.closer = r.at+n, c
	}
}

// word parses a name without quotes.
func (r *reader) word() string {
	from := r.at
	for r.at < len(r.text) {
		c, n := r.peek()
		if blank(c) || strings.ContainsRune(`{}[]:,="'`, c) {
			break
		}
		r.at += n
	}
	return r.text[from:r.at]
}

// bare parses a number, a literal, or a string without quotes.
func (r *reader) bare() Value {
	from := r.at
	for r.at < len(r.text) {
		c, n := r.peek()
		if c == '\n' || c == ',' || c == '}' || c == ']' || strings.HasPrefix(r.text[r.at:], "//") ||
			strings.HasPrefix(r.text[r.at:], "/*") {
			break
		}
		r.at += n
	}
	text := strings.TrimSpace(r.text[from:r.at])
	v := Value{Kind: Text, Text: text, Cut: r.at == len(r.text)}
	switch strings.ToLower(text) {
	case "true", "false":
		v.Kind, v.Text = Bool, strings.ToLower(text)
	case "null", "none", "nil", "undefined", "":
		v.Kind, v.Text = Null, ""
	default:
		if numeric(text) {
			v.Kind = Number
		}
	}
	if r.at == from { // nothing a value can begin with
		_, n := r.peek()
		r.at += n
	}
	return v
}

// numeric reports whether a text is a number.
func numeric(text string) bool {
	digits := 0
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case (c == '-' || c == '+') && (i == 0 || text[i-1]|0x20 == 'e'), c == '.', c|0x20 == 'e' && digits > 0:
		default:
			return false
		}
	}
	return digits > 0
}
