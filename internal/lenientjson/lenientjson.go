// Package lenientjson reads JSON the way language models write it: in fences, after thoughts, with trailing or missing
// commas, single or typographic quotes, comments, bare words, quotes nobody escaped, and without an end.
//
// Inside are a reader of one object, a search for it in running text, and a listener that passes one member on while it
// still arrives. What the members mean is the caller's business. The one rule to keep: what is proper JSON is read
// exactly as encoding/json reads it; what stands in a text of an object is never taken for another object, because it
// may be quoted from anywhere; and what was cut off says so, because half a command is another command.
package lenientjson

import (
	"strings"
	"unicode/utf8"
)

// Largest is how many bytes of a text are read.
const Largest = 256 << 10

// deepest is how deep values may be nested; nobody means more.
const deepest = 64

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

// A Value is something that was read.
type Value struct {
	Kind    Kind
	Text    string // of a text; of a number as it was written; of a bool true or false
	List    []Value
	Members []Member // as they came; of several with one name the last counts
	Cut     bool     // the text ends before it does

	at int // of an object where its brace stands
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

// A reader reads one value from where it stands. It always moves on, so it takes no longer than the text is long.
type reader struct {
	text    string
	at      int
	depth   int
	objects int // that are open
	lists   int
	names   []string // of the answer, see [FindAmong]
	// member is where the text of the wanted member of the outermost object begins, for those who listen; zero means
	// that it was not met.
	wanted string
	member int
	closer rune
}

// peek returns the next character, or zero at the end, with the punctuation of wide letters made narrow.
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

// skip passes blanks and comments.
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

// value reads whatever comes next. It answers false when there is nothing, or it is nested too deep.
func (r *reader) value() (Value, bool) {
	r.skip()
	c, n := r.peek()
	switch {
	case n == 0 || r.depth == deepest:
		r.at = len(r.text) // what is deeper than this is no answer
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

// within reads one element after the other up to the closing bracket, and tells whether it came that far.
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

// pair reads a name and its value.
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

// meet notes where the wanted text begins.
func (r *reader) meet(name string) {
	if r.wanted == "" || r.depth != 1 || name != r.wanted || r.member > 0 {
		return
	}
	if c, n := r.peek(); isQuote(c) {
		r.member, r.closer = r.at+n, c
	}
}

// word reads a name without quotes.
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

// bare reads a number, a literal, or a text that lacks its quotes.
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

// numeric tells numbers from words.
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
