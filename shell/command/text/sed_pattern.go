package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

// addresses parses the addresses of a command.
func (p *sedScript) addresses(s *sedRun, cmd *sedCommand) {
	if cmd.from = p.address(s, false); cmd.from == nil {
		return
	}
	p.spaces()
	if p.peek() == ',' {
		p.pos++
		p.spaces()
		if cmd.to = p.address(s, true); cmd.to == nil {
			p.pos++
			p.fail("unexpected `,'")
		}
	}
	if cmd.from.kind == 'n' && cmd.from.n == 0 {
		if cmd.to == nil || cmd.to.kind != '/' {
			p.pos++
			p.fail("invalid usage of line address 0")
		}
		cmd.active = true // as if the line before the first had matched
	}
}

// address parses one address, or returns nil. Some forms can only end a range.
func (p *sedScript) address(s *sedRun, second bool) *sedAddress {
	switch c := p.peek(); {
	case cli.IsDigit(c):
		p.numbers = true
		a := &sedAddress{kind: 'n', n: p.integer(0)}
		if p.peek() == '~' && !second {
			p.pos++
			if a.step = p.integer(0); a.step > 0 {
				a.kind = '~'
			}
		}
		return a
	case (c == '+' || c == '~') && second:
		p.numbers = true
		p.pos++
		if c == '~' {
			c = 'm'
		}
		return &sedAddress{kind: c, n: p.integer(0)}
	case c == '$':
		p.pos++
		return &sedAddress{kind: '$'}
	case c == '/' || c == '\\':
		return p.patternAddress(s)
	}
	return nil
}

func (p *sedScript) patternAddress(s *sedRun) *sedAddress {
	if p.next() == '\\' {
		p.next()
	}
	text, ok := p.delimited(p.src[p.pos-1], true)
	if !ok {
		p.fail("unterminated address regex")
	}
	how := regex.Options{}
	for ; ; p.pos++ {
		switch p.peek() {
		case 'I':
			how.Fold = true
		case 'M':
			how.Multiline = true
		default:
			return &sedAddress{kind: '/', regex: p.regex(s, text, how)}
		}
	}
}

// delimited returns the text up to the next delimiter. An escaped delimiter loses its
// backslash, and inside brackets it is an ordinary character.
func (p *sedScript) delimited(end byte, isRegex bool) (string, bool) {
	var out []byte
	for p.pos < len(p.src) {
		c := p.next()
		switch {
		case c == end:
			return string(out), true
		case c == '\n' && isRegex:
			return "", false
		case c == '[' && isRegex:
			p.pos--
			n := cli.BracketLength(p.src[p.pos:])
			out = append(out, p.src[p.pos:p.pos+n]...)
			p.pos += n
		case c == '\\' && p.pos < len(p.src):
			d := p.next()
			if d != end {
				out = append(out, '\\')
			}
			out = append(out, d)
		default:
			out = append(out, c)
		}
	}
	return "", false
}

// regex compiles a pattern. An empty one means the pattern that was used last.
func (p *sedScript) regex(s *sedRun, text string, how regex.Options) *sedRegex {
	if text == "" {
		return &sedRegex{}
	}
	how.Strict = true
	if s.extended {
		how.Syntax = regex.ERE
	}
	re, err := regex.Compile(regexEscapes(text), s.memory.Bound(s.ctx, how))
	if err != nil && fault.KindOf(err) != fault.Exhausted {
		p.fail("%v", err)
	}
	cli.Check(err)
	return &sedRegex{re}
}

// regexEscapes replaces the escapes that stand for one character, also inside
// brackets.
func regexEscapes(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		if c, n := charEscape(s[i+1:]); n > 0 {
			out = append(out, c)
			i += n
			continue
		}
		out = append(out, '\\', s[i+1])
		i++
	}
	return string(out)
}

// charEscape decodes an escape, without its backslash, and returns its length. The
// length is 0 if the escape does not stand for a single byte.
func charEscape(s string) (byte, int) {
	if i := strings.IndexByte("afnrtv", s[0]); i >= 0 {
		return "\a\f\n\r\t\v"[i], 1
	}
	digits, base := 3, 10
	switch s[0] {
	case 'c':
		if len(s) > 1 {
			return s[1]&^0x20 ^ 0x40, 2
		}
		return 0, 0
	case 'd':
	case 'o':
		base = 8
	case 'x':
		digits, base = 2, 16
	default:
		return 0, 0
	}
	for n := min(digits, len(s)-1); n > 0; n-- {
		if v, err := strconv.ParseUint(s[1:1+n], base, 16); err == nil {
			return byte(v), 1 + n
		}
	}
	return 0, 0
}

// escapedChar is charEscape where any other escaped character stands for itself.
func escapedChar(s string) (byte, int) {
	if c, n := charEscape(s); n > 0 {
		return c, n
	}
	return s[0], 1
}

// transliteration parses y.
func (p *sedScript) transliteration(cmd *sedCommand) {
	end := p.next()
	from, ok := p.delimited(end, false)
	to, ok2 := p.delimited(end, false)
	if !ok || !ok2 {
		p.fail("unterminated `y' command")
	}
	a, b := plainChars(from), plainChars(to)
	if len(a) != len(b) {
		p.fail("strings for `y' command are different lengths")
	}
	cmd.trans = map[rune]rune{}
	for i, r := range slices.Backward(a) { // the first of equal characters decides
		cmd.trans[r] = b[i]
	}
	cmd.bytes = byteTable(cmd.trans)
	p.endOfCommand()
}

// byteTable returns trans as a table of bytes, or nil if it has characters beyond ASCII.
func byteTable(trans map[rune]rune) *[256]byte {
	var t [256]byte
	for i := range t {
		t[i] = byte(i)
	}
	for from, to := range trans {
		if from < 0 || from >= utf8.RuneSelf || to < 0 || to >= utf8.RuneSelf {
			return nil
		}
		t[from] = byte(to)
	}
	return &t
}

// plainChars returns the characters of a string of y. A byte that is not UTF-8 becomes
// a negative number.
func plainChars(s string) (out []rune) {
	for len(s) > 0 {
		if s[0] == '\\' && len(s) > 1 {
			if c, n := charEscape(s[1:]); n > 0 {
				out, s = append(out, rune(c)), s[1+n:]
				continue
			}
			if s[1] == '\\' {
				s = s[1:]
			}
		}
		r, w := charOf(s)
		out, s = append(out, r), s[w:]
	}
	return out
}

// charOf is DecodeRuneInString that distinguishes bytes that are not UTF-8.
func charOf(s string) (rune, int) {
	r, w := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && w == 1 {
		return -rune(s[0]), 1
	}
	return r, w
}
