package jq

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"hako/shell/stream"
)

// A Parser reads JSON values one after the other. It keeps its own stack,
// so nesting costs memory that is counted, never the stack of the process.
type Parser struct {
	Usage  *Usage
	In     *stream.Reader
	buf    []byte // unread
	eof    bool
	Line   int // lines ended so far
	column int
	stack  []openContainer
	next   any
	have   bool // next holds a value that is not in a container yet
	word   []byte
}

// An openContainer is a container under construction.
type openContainer struct {
	array  *Array
	object *Object
	key    string
	keyed  bool // key waits for its value
}

// A SyntaxError reports where JSON is wrong.
type SyntaxError struct{ Text string }

func (e *SyntaxError) Error() string { return e.Text }

// fail ends the reading of a value with a syntax error, by a panic that Value catches.
func (p *Parser) fail(why string) {
	if p.eof && len(p.buf) == 0 && !strings.HasSuffix(why, "EOF") {
		why += " at EOF"
	}
	panic(parseError{&SyntaxError{fmt.Sprintf("%s at line %d, column %d", why, p.Line+1, p.column)}})
}

type parseError struct{ err error }

// Value returns the next value, or io.EOF.
func (p *Parser) Value() (v any, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case parseError:
			err = r.err
		default:
			panic(r)
		}
	}()
	p.Usage.Pin() // nothing refers to a value before it is complete
	defer p.Usage.Unpin()
	for !p.complete() {
		if len(p.buf) == 0 && !p.fill() {
			return p.atEnd()
		}
		p.token()
	}
	v, p.next, p.have = p.next, nil, false
	return v, nil
}

// delimiters end a word: blanks ('s'), quotes ('q') and the characters of
// containers ('c'). 0x1e separates JSON text sequences.
var delimiters = [256]byte{' ': 's', '\t': 's', '\r': 's', '\n': 's', 0x1e: 's', '"': 'q',
	'[': 'c', '{': 'c', ':': 'c', ',': 'c', ']': 'c', '}': 'c'}

// token handles the next character, or the string that it begins.
func (p *Parser) token() {
	ch, rest, column := p.buf[0], p.buf, p.column
	if ch != '"' {
		p.take() // messages about the word before count it
	}
	kind := delimiters[ch]
	if kind != 0 && len(p.word) > 0 {
		p.endWord()
	}
	switch {
	case p.complete() && kind == 'c':
		p.buf, p.column = rest, column // it comes again
	case p.complete() || kind == 's':
	case ch == '"':
		p.take()
		p.quote()
	default:
		p.char(ch)
	}
}

// complete reports whether next is a value that is not inside anything.
func (p *Parser) complete() bool { return p.have && len(p.stack) == 0 }

// Lines is how many lines were begun and ended, as error messages count them.
func (p *Parser) Lines() int {
	if p.column > 0 && (bytes.IndexByte(p.buf, '\n') >= 0 || len(p.buf) > 0 && !p.eof) {
		return p.Line + 1
	}
	return p.Line
}

// fill reads more input; false means that there is none.
func (p *Parser) fill() bool {
	if p.eof {
		return false
	}
	chunk, err := p.In.Chunk()
	if err == io.EOF {
		p.eof = true
		return false
	}
	if err != nil {
		panic(parseError{err})
	}
	p.buf = chunk
	p.Usage.Spend(16 * int64(len(chunk)))
	return true
}

// take consumes a character.
func (p *Parser) take() {
	p.column++
	if p.buf[0] == '\n' {
		p.Line++
		p.column = 0
	}
	p.buf = p.buf[1:]
}

// char handles a character outside of strings, which was consumed.
func (p *Parser) char(ch byte) {
	switch ch {
	case '[', '{':
		p.begin(ch)
	case ':':
		p.colon()
	case ',':
		p.comma()
	case ']':
		p.endArray()
	case '}':
		p.endObject()
	default:
		if len(p.word) > maxLiteral {
			p.fail("Invalid literal")
		}
		p.word = append(p.word, ch)
		if len(p.word) > 4096 {
			p.Usage.Alloc(1)
		}
	}
}

// endWord ends a word such as true or 12.
func (p *Parser) endWord() {
	word := string(p.word)
	p.word = p.word[:0]
	p.put(p.literal(word))
}

func (p *Parser) literal(word string) any {
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case "nan":
		return math.NaN()
	}
	if strings.IndexByte("tfn", word[0]) >= 0 {
		p.fail("Invalid literal")
	}
	v, ok := ParseNumber(word)
	if !ok {
		p.fail("Invalid numeric literal")
	}
	return v
}

// put takes a value that was read.
func (p *Parser) put(v any) {
	if p.have {
		p.fail("Expected separator between values")
	}
	p.next, p.have = v, true
	p.Usage.Alloc(24)
}

// top is the innermost open container, or an empty one.
func (p *Parser) top() *openContainer {
	if len(p.stack) == 0 {
		return &openContainer{}
	}
	return &p.stack[len(p.stack)-1]
}

func (p *Parser) begin(ch byte) {
	if len(p.stack) >= maxDepth {
		p.fail("Exceeds depth limit for parsing")
	}
	if p.have {
		p.fail("Expected separator between values")
	}
	open := openContainer{}
	if ch == '[' {
		open.array = &Array{}
	} else {
		open.object = &Object{}
	}
	p.stack = append(p.stack, open)
	p.Usage.Alloc(96)
}

func (p *Parser) endArray() {
	a := p.top().array
	switch {
	case a == nil:
		p.fail("Unmatched ']'")
	case p.have:
		a.Items = append(a.Items, p.next)
	case len(a.Items) > 0:
		p.fail("Expected another array element")
	}
	p.end(a)
}

func (p *Parser) endObject() {
	top := p.top()
	switch {
	case top.object == nil || top.keyed && !p.have:
		p.fail("Unmatched '}'")
	case p.have && !top.keyed:
		p.fail("Objects must consist of key:value pairs")
	case p.have:
		top.object.Put(top.key, p.next)
	case len(top.object.Keys) > 0:
		p.fail("Expected another key-value pair")
	}
	p.end(top.object)
}

func (p *Parser) end(v any) {
	p.stack = p.stack[:len(p.stack)-1]
	p.next, p.have = v, true
}

func (p *Parser) colon() {
	top := p.top()
	switch {
	case top.object == nil:
		p.fail("':' not as part of an object")
	case !p.have:
		p.fail("Expected string key before ':'")
	case top.keyed:
		p.fail("':' should follow a key")
	}
	key, ok := p.next.(string)
	if !ok {
		p.fail("Object keys must be strings")
	}
	top.key, top.keyed = key, true
	p.next, p.have = nil, false
}

func (p *Parser) comma() {
	top := p.top()
	switch {
	case !p.have:
		p.fail("Expected value before ','")
	case top.array != nil:
		top.array.Items = append(top.array.Items, p.next)
	case top.object == nil:
		p.fail("',' not as part of an object or array")
	case !top.keyed:
		p.fail("Objects must consist of key:value pairs")
	default:
		top.object.Put(top.key, p.next)
		top.keyed = false
	}
	p.next, p.have = nil, false
	p.Usage.Alloc(64)
}

// atEnd checks whether the input may end here.
func (p *Parser) atEnd() (any, error) {
	if len(p.word) > 0 {
		p.endWord()
	}
	if p.complete() {
		v := p.next
		p.next, p.have = nil, false
		return v, nil
	}
	if p.have || len(p.stack) > 0 {
		p.unfinished("Unfinished JSON term at EOF")
	}
	return nil, io.EOF
}

func (p *Parser) unfinished(why string) {
	p.stack, p.have = nil, false
	p.fail(why)
}

// quote reads a string, whose opening quote was consumed.
func (p *Parser) quote() {
	var text []byte
	for escaped := false; ; {
		end := 0
		for !escaped && end < len(p.buf) && p.buf[end] != '"' && p.buf[end] != '\\' && p.buf[end] != '\n' {
			end++
		}
		text = append(text, p.buf[:end]...)
		p.column += end
		p.buf = p.buf[end:]
		if len(p.buf) == 0 {
			if !p.fill() {
				p.unfinished("Unfinished string at EOF")
			}
			p.Usage.Alloc(int64(len(p.buf)))
			continue
		}
		ch := p.buf[0]
		p.take()
		if ch == '"' && !escaped {
			break
		}
		text = append(text, ch)
		escaped = ch == '\\' && !escaped
	}
	p.Usage.Alloc(int64(len(text)) + 32)
	s, err := unquoteJSON(text)
	if err != nil {
		p.fail(err.Error())
	}
	p.put(s)
}

// A jsonError is what is wrong with a string, in the words of jq.
type jsonError string

func (e jsonError) Error() string { return string(e) }

// unquoteJSON replaces the escapes of the text between two quotes; bytes that are not
// UTF-8 become the replacement character.
func unquoteJSON(text []byte) (string, error) {
	plain, escaped := true, false
	for _, ch := range text {
		if ch < ' ' {
			return "", jsonError("Invalid string: control characters from U+0000 through U+001F must be escaped")
		}
		escaped = escaped || ch == '\\'
		plain = plain && ch < 0x80
	}
	s := string(text)
	if !plain {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if !escaped {
		return s, nil
	}
	return unescapeJSON(s)
}

func unescapeJSON(s string) (string, error) {
	out := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(out, s...)), nil
		}
		out, s = append(out, s[:i]...), s[i:]
		if short := strings.IndexByte(`"\/bfnrt`, s[1]); short >= 0 {
			out, s = append(out, "\"\\/\b\f\n\r\t"[short]), s[2:]
			continue
		}
		r := unicodeEscape(s)
		if r < 0 {
			return "", jsonError("Invalid escape")
		}
		s = s[6:]
		if utf16.IsSurrogate(r) { // half of a pair; alone it is invalid
			if r = utf16.DecodeRune(r, unicodeEscape(s)); r != utf8.RuneError {
				s = s[6:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
}

// unicodeEscape reads the \uXXXX that s begins with; -1 if there is none.
func unicodeEscape(s string) rune {
	if len(s) < 6 || s[:2] != `\u` {
		return -1
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// ParseNumber reads a number as jq does: what strtod accepts, except
// hexadecimal, names and a leading plus.
func ParseNumber(s string) (any, bool) {
	for i := range len(s) {
		ch := s[i]
		if (ch < '0' || ch > '9') && ch != '.' && ch != 'e' && ch != 'E' && ch != '-' && ch != '+' {
			return nil, false
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > -1<<53 && n < 1<<53 && s[0] != '+' {
		if n == 0 && s[0] == '-' {
			return math.Copysign(0, -1), true
		}
		return float64(n), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, false
	}
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 15 && len(digits) <= 4096 && strings.Trim(digits, "0123456789") == "" && digits[0] != '0' &&
		strconv.FormatFloat(f, 'f', 0, 64) != s {
		return Big{s, f}, true
	}
	return f, true
}

// maxLiteral is longer than any number or literal. Without a limit, all of a
// text that is not JSON would be collected as one literal.
const maxLiteral = 1 << 20
