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
	ended  bool // the end was seen
	again  bool // the character taken last comes again
	Line   int  // lines ended so far
	column int
	stack  []openContainer
	next   any
	have   bool // next holds a value that has no place yet
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

func (p *Parser) wrong(why string) error {
	if p.ended && !strings.HasSuffix(why, "EOF") {
		why += " at EOF"
	}
	return &SyntaxError{fmt.Sprintf("%s at line %d, column %d", why, p.Line+1, p.column)}
}

// Value returns the next value, or io.EOF.
func (p *Parser) Value() (any, error) {
	p.Usage.Pin() // nothing refers to a value before it is complete
	v, err := p.read()
	p.Usage.Unpin()
	return v, err
}

func (p *Parser) read() (any, error) {
	for {
		if len(p.buf) == 0 {
			more, err := p.fill()
			if err != nil {
				return nil, err
			}
			if !more {
				return p.atEnd()
			}
		}
		ch := p.buf[0]
		if ch == '"' {
			if done, v, err := p.endWord(); done || err != nil {
				return v, err
			}
			if err := p.quote(); err != nil {
				return nil, err
			}
			if done, v, err := p.finished(); done {
				return v, err
			}
			continue
		}
		rest := p.buf
		p.buf = p.buf[1:]
		p.column++
		done, v, err := p.char(ch)
		if p.again {
			p.again, p.buf = false, rest
			p.column--
		}
		if err != nil || done {
			return v, err
		}
	}
}

// Lines is how many lines were begun and ended, as error messages count them.
func (p *Parser) Lines() int {
	if p.column > 0 && (bytes.IndexByte(p.buf, '\n') >= 0 || len(p.buf) > 0 && !p.eof) {
		return p.Line + 1
	}
	return p.Line
}

func (p *Parser) fill() (bool, error) {
	if p.eof {
		return false, nil
	}
	chunk, err := p.In.Chunk()
	if err == io.EOF {
		p.eof = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.buf = chunk
	p.Usage.Spend(16 * int64(len(chunk)))
	return true, nil
}

// char takes one character outside of strings. done means that v is complete.
func (p *Parser) char(ch byte) (done bool, v any, err error) {
	switch ch {
	case ' ', '\t', '\r':
		return p.endWord()
	case '\n':
		p.Line++
		p.column = 0
		return p.endWord()
	case '[', '{', ':', ',', ']', '}':
		if done, v, err := p.endWord(); err != nil {
			return false, nil, err
		} else if done {
			p.again = true
			return true, v, nil
		}
		if err := p.structure(ch); err != nil {
			return false, nil, err
		}
		return p.finished()
	case 0x1e: // the record separator of JSON text sequences
		return p.endWord()
	}
	if len(p.word) > maxLiteral {
		return false, nil, p.wrong("Invalid literal")
	}
	p.word = append(p.word, ch)
	if len(p.word) > 4096 {
		p.Usage.Alloc(1)
	}
	return false, nil, nil
}

// finished hands out a value that is not inside anything.
func (p *Parser) finished() (bool, any, error) {
	if len(p.stack) > 0 || !p.have {
		return false, nil, nil
	}
	v := p.next
	p.next, p.have = nil, false
	return true, v, nil
}

// endWord ends a word such as true or 12.
func (p *Parser) endWord() (bool, any, error) {
	if len(p.word) == 0 {
		return false, nil, nil
	}
	v, err := p.literal(string(p.word))
	p.word = p.word[:0]
	if err != nil {
		return false, nil, err
	}
	if err := p.put(v); err != nil {
		return false, nil, err
	}
	return p.finished()
}

func (p *Parser) literal(word string) (any, error) {
	switch word {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	case "nan":
		return math.NaN(), nil
	}
	if c := word[0]; c == 't' || c == 'f' || c == 'n' && word != "nan" {
		return nil, p.wrong("Invalid literal")
	}
	v, ok := ParseNumber(word)
	if !ok {
		return nil, p.wrong("Invalid numeric literal")
	}
	return v, nil
}

// put takes a value that was read.
func (p *Parser) put(v any) error {
	if p.have {
		return p.wrong("Expected separator between values")
	}
	p.next, p.have = v, true
	p.Usage.Alloc(24)
	return nil
}

func (p *Parser) top() *openContainer {
	if len(p.stack) == 0 {
		return nil
	}
	return &p.stack[len(p.stack)-1]
}

// structure takes one of [ { : , ] }.
func (p *Parser) structure(ch byte) error {
	top := p.top()
	switch ch {
	case '[', '{':
		return p.begin(ch)
	case ':':
		return p.colon(top)
	case ',':
		return p.comma(top)
	case ']':
		if top == nil || top.array == nil {
			return p.wrong("Unmatched ']'")
		}
		if !p.have && len(top.array.Items) > 0 {
			return p.wrong("Expected another array element")
		}
		if p.have {
			top.array.Items = append(top.array.Items, p.next)
		}
		return p.end(top.array)
	}
	if top == nil || top.object == nil {
		return p.wrong("Unmatched '}'")
	}
	switch {
	case p.have && !top.keyed:
		return p.wrong("Objects must consist of key:value pairs")
	case p.have:
		top.object.Put(top.key, p.next)
	case top.keyed:
		return p.wrong("Unmatched '}'")
	case len(top.object.Keys) > 0:
		return p.wrong("Expected another key-value pair")
	}
	return p.end(top.object)
}

func (p *Parser) begin(ch byte) error {
	if len(p.stack) >= maxDepth {
		return p.wrong("Exceeds depth limit for parsing")
	}
	if p.have {
		return p.wrong("Expected separator between values")
	}
	open := openContainer{}
	if ch == '[' {
		open.array = &Array{}
	} else {
		open.object = &Object{}
	}
	p.stack = append(p.stack, open)
	p.Usage.Alloc(96)
	return nil
}

func (p *Parser) end(v any) error {
	p.stack = p.stack[:len(p.stack)-1]
	p.next, p.have = v, true
	return nil
}

func (p *Parser) colon(top *openContainer) error {
	switch {
	case top == nil || top.object == nil:
		return p.wrong("':' not as part of an object")
	case !p.have:
		return p.wrong("Expected string key before ':'")
	case top.keyed:
		return p.wrong("':' should follow a key")
	}
	key, ok := p.next.(string)
	if !ok {
		return p.wrong("Object keys must be strings")
	}
	top.key, top.keyed = key, true
	p.next, p.have = nil, false
	return nil
}

func (p *Parser) comma(top *openContainer) error {
	switch {
	case !p.have:
		return p.wrong("Expected value before ','")
	case top == nil:
		return p.wrong("',' not as part of an object or array")
	case top.array != nil:
		top.array.Items = append(top.array.Items, p.next)
	case !top.keyed:
		return p.wrong("Objects must consist of key:value pairs")
	default:
		top.object.Put(top.key, p.next)
		top.keyed = false
	}
	p.next, p.have = nil, false
	p.Usage.Alloc(64)
	return nil
}

// atEnd checks whether the input may end here.
func (p *Parser) atEnd() (any, error) {
	p.ended = true
	if done, v, err := p.endWord(); done || err != nil {
		return v, err
	}
	if p.have || len(p.stack) > 0 {
		p.stack, p.have = nil, false
		return nil, p.wrong("Unfinished JSON term at EOF")
	}
	return nil, io.EOF
}

// quote reads a string, whose opening quote is next.
func (p *Parser) quote() error {
	p.buf = p.buf[1:]
	p.column++
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
			more, err := p.fill()
			if err != nil {
				return err
			}
			if !more {
				p.stack, p.have = nil, false
				return p.wrong("Unfinished string at EOF")
			}
			p.Usage.Alloc(int64(len(p.buf)))
			continue
		}
		ch := p.buf[0]
		p.buf = p.buf[1:]
		p.column++
		switch {
		case ch == '"' && !escaped:
			return p.endQuoted(text)
		case ch == '\n':
			p.Line++
			p.column = 0
		}
		text = append(text, ch)
		escaped = ch == '\\' && !escaped
	}
}

func (p *Parser) endQuoted(text []byte) error {
	p.Usage.Alloc(int64(len(text)) + 32)
	s, err := unquoteJSON(text)
	if err != nil {
		return p.wrong(err.Error())
	}
	return p.put(s)
}

// unquoteJSON replaces the escapes of the text between two quotes; bytes that are not
// UTF-8 become the replacement character.
func unquoteJSON(text []byte) (string, error) {
	plain, escaped := true, false
	for _, ch := range text {
		if ch < ' ' {
			return "", errors.New("Invalid string: control characters from U+0000 through U+001F must be escaped")
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
			return "", errors.New("Invalid escape")
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

// ParseNumber reads a number as jq does: whatever strtod takes, without
// hexadecimal, names and signs in front.
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
