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
	M      *Meter
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

// A openContainer is a container under construction.
type openContainer struct {
	array  *Array
	object *Object
	key    string
	keyed  bool // key waits for its value
}

// A Syntax error is where JSON is wrong.
type Syntax struct{ Text string }

func (e *Syntax) Error() string { return e.Text }

func (p *Parser) wrong(why string) error {
	if p.ended && !strings.HasSuffix(why, "EOF") {
		why += " at EOF"
	}
	return &Syntax{fmt.Sprintf("%s at line %d, column %d", why, p.Line+1, p.column)}
}

// Value returns the next value, or io.EOF.
func (p *Parser) Value() (any, error) {
	p.M.Pin() // nothing refers to a value before it is complete
	v, err := p.read()
	p.M.Unpin()
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
			if err := p.Quote(); err != nil {
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
	return true, p.M.Spend(16 * int64(len(chunk)))
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
	if len(p.word) > longestJqWord {
		return false, nil, p.wrong("Invalid literal")
	}
	p.word = append(p.word, ch)
	if len(p.word) > 4096 {
		return false, nil, p.M.Alloc(1)
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
	return p.M.Alloc(24)
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
	if len(p.stack) >= MaxDepth {
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
	return p.M.Alloc(96)
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
	return p.M.Alloc(64)
}

// atEnd says whether the input may end here.
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

// Quote reads a string, whose opening quote is next.
func (p *Parser) Quote() error {
	p.buf = p.buf[1:]
	p.column++
	var text []byte
	for {
		end := 0
		for end < len(p.buf) && p.buf[end] != '"' && p.buf[end] != '\\' && p.buf[end] != '\n' {
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
			if err := p.M.Alloc(int64(len(p.buf))); err != nil {
				return err
			}
			continue
		}
		ch := p.buf[0]
		p.buf = p.buf[1:]
		p.column++
		switch ch {
		case '"':
			return p.endQuoted(text)
		case '\n':
			p.Line++
			p.column = 0
			text = append(text, ch)
		default:
			text = append(text, ch)
			if len(p.buf) > 0 {
				text = append(text, p.buf[0])
				p.buf = p.buf[1:]
				p.column++
			}
		}
	}
}

func (p *Parser) endQuoted(text []byte) error {
	if err := p.M.Alloc(int64(len(text)) + 32); err != nil {
		return err
	}
	s, err := unquoteJSON(text)
	if err != nil {
		return p.wrong(err.Error())
	}
	return p.put(s)
}

var errControl = &Syntax{"Invalid string: control characters from U+0000 through U+001F must be escaped"}

// unquoteJSON turns escapes into what they stand for; bytes that are not UTF-8
// become the replacement character.
func unquoteJSON(text []byte) (string, error) {
	plain := true
	for _, ch := range text {
		if ch < ' ' {
			return "", errControl
		}
		plain = plain && ch != '\\' && ch < 0x80
	}
	if plain {
		return string(text), nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			n := i
			for n < len(text) && text[n] != '\\' {
				n++
			}
			out = append(out, text[i:n]...)
			i = n
			continue
		}
		if i+1 >= len(text) {
			return "", &Syntax{"Expected escape character at end of string"}
		}
		r, n, err := jsonEscape(text[i+1:])
		if err != nil {
			return "", err
		}
		out = utf8.AppendRune(out, r)
		i += 1 + n
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

func jsonEscape(s []byte) (r rune, n int, err error) {
	switch s[0] {
	case '"', '\\', '/':
		return rune(s[0]), 1, nil
	case 'b':
		return '\b', 1, nil
	case 'f':
		return '\f', 1, nil
	case 'n':
		return '\n', 1, nil
	case 'r':
		return '\r', 1, nil
	case 't':
		return '\t', 1, nil
	case 'u':
		return jsonUnicode(s)
	}
	return 0, 0, &Syntax{"Invalid escape"}
}

// jsonUnicode reads uXXXX, or two of them that form a pair.
func jsonUnicode(s []byte) (rune, int, error) {
	hi, ok := hex4(s)
	if !ok {
		return 0, 0, &Syntax{"Invalid escape"}
	}
	if !utf16.IsSurrogate(hi) {
		return hi, 5, nil
	}
	if len(s) >= 11 && s[5] == '\\' && s[6] == 'u' {
		if lo, ok := hex4(s[6:]); ok {
			if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
				return r, 11, nil
			}
		}
	}
	return utf8.RuneError, 5, nil
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 5 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[1:5]), 16, 16)
	return rune(n), err == nil
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

// longestJqWord is more than any number or literal has; without a bound, text
// that is no JSON would be gathered to its end.
const longestJqWord = 1 << 20
