package text

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
	"hako/shell/regex"
)

// addresses parses what stands before a command.
func (p *sedScript) addresses(s *sedRun, cmd *sedCommand) (err error) {
	if cmd.from, err = p.address(s, false); err != nil || cmd.from == nil {
		return err
	}
	p.spaces()
	if p.peek() == ',' {
		p.pos++
		p.spaces()
		if cmd.to, err = p.address(s, true); err != nil {
			return err
		}
		if cmd.to == nil {
			p.pos++
			return p.fail("unexpected `,'")
		}
	}
	if cmd.from.kind == 'n' && cmd.from.n == 0 {
		if cmd.to == nil || cmd.to.kind != '/' {
			p.pos++
			return p.fail("invalid usage of line address 0")
		}
		cmd.active = true // as if the line before the first had matched
	}
	return nil
}

// address parses one address; second permits the forms that only end a range.
func (p *sedScript) address(s *sedRun, second bool) (*sedAddress, error) {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		p.numbers = true
		a := &sedAddress{kind: 'n', n: p.integer(0)}
		if p.peek() == '~' && !second {
			p.pos++
			a.step = p.integer(0)
			if a.step > 0 {
				a.kind = '~'
			}
		}
		return a, nil
	case (c == '+' || c == '~') && second:
		p.numbers = true
		p.pos++
		kind := byte('+')
		if c == '~' {
			kind = 'm'
		}
		return &sedAddress{kind: kind, n: p.integer(0)}, nil
	case c == '$':
		p.pos++
		return &sedAddress{kind: '$'}, nil
	case c == '/' || c == '\\':
		return p.patternAddress(s)
	}
	return nil, nil
}

func (p *sedScript) patternAddress(s *sedRun) (*sedAddress, error) {
	if p.next() == '\\' {
		p.next()
	}
	text, ok := p.delimited(p.src[p.pos-1], true)
	if !ok {
		return nil, p.fail("unterminated address regex")
	}
	how := regex.Options{}
	for {
		switch p.peek() {
		case 'I':
			how.Fold = true
		case 'M':
			how.Multiline = true
		default:
			re, err := p.regex(s, text, how)
			return &sedAddress{kind: '/', regex: re}, err
		}
		p.pos++
	}
}

// delimited takes the text up to the next delimiter. An escaped delimiter loses
// its backslash, and inside brackets it is a character like any other.
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
			n := bracketLength(p.src[p.pos:])
			out = append(out, p.src[p.pos:p.pos+n]...)
			p.pos += n
		case c == '\\' && p.pos < len(p.src):
			d := p.next()
			switch {
			case d == end && !(isRegex && strings.IndexByte("(){}+?|", d) >= 0 && end != d):
			case d == 'n' && isRegex:
				out, d = append(out, '\\'), 'n'
			default:
				out = append(out, '\\')
			}
			out = append(out, d)
		default:
			out = append(out, c)
		}
	}
	return "", false
}

// bracketLength returns the length of the bracket expression s starts with; one
// without an end takes all there is.
func bracketLength(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) {
		if s[i] == ']' {
			return i + 1
		}
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if n := strings.Index(s[i+2:], s[i+1:i+2]+"]"); n >= 0 {
				i += n + 4
				continue
			}
		}
		i++
	}
	return len(s)
}

// regex compiles a pattern; an empty one is the last used.
func (p *sedScript) regex(s *sedRun, text string, how regex.Options) (*sedRegex, error) {
	if text == "" {
		return &sedRegex{}, nil
	}
	how.Strict = true
	if s.extended {
		how.Syntax = regex.ERE
	}
	re, err := regex.Compile(regexEscapes(text), s.holding.Bound(s.ctx, how))
	if fault.KindOf(err) == fault.Exhausted {
		return nil, err
	}
	if err != nil {
		return nil, p.fail("%v", err)
	}
	return &sedRegex{re}, nil
}

// regexEscapes turns the escapes that stand for a character into it, also
// inside brackets.
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

// charEscape decodes the escape whose backslash is gone, and returns its
// length; 0 if it stands for no single byte.
func charEscape(s string) (byte, int) {
	switch s[0] {
	case 'n':
		return '\n', 1
	case 't':
		return '\t', 1
	case 'f':
		return '\f', 1
	case 'v':
		return '\v', 1
	case 'a':
		return 7, 1
	case 'r':
		return '\r', 1
	case 'c':
		if len(s) > 1 {
			return s[1]&^0x20 ^ 0x40, 2
		}
	case 'd':
		return numberEscape(s, 3, 10)
	case 'o':
		return numberEscape(s, 3, 8)
	case 'x':
		return numberEscape(s, 2, 16)
	}
	return 0, 0
}

func numberEscape(s string, digits, base int) (byte, int) {
	for n := min(digits, len(s)-1); n > 0; n-- {
		if v, err := strconv.ParseUint(s[1:1+n], base, 16); err == nil {
			return byte(v), 1 + n
		}
	}
	return 0, 0
}

// transliteration parses y.
func (p *sedScript) transliteration(cmd *sedCommand) error {
	end := p.next()
	from, ok := p.delimited(end, false)
	to, ok2 := "", false
	if ok {
		to, ok2 = p.delimited(end, false)
	}
	if !ok || !ok2 {
		return p.fail("unterminated `y' command")
	}
	a, b := plainChars(from), plainChars(to)
	if len(a) != len(b) {
		return p.fail("strings for `y' command are different lengths")
	}
	cmd.trans = map[rune]rune{}
	for i := range a {
		if _, ok := cmd.trans[a[i]]; !ok {
			cmd.trans[a[i]] = b[i]
		}
	}
	cmd.bytes = byteTable(cmd.trans)
	return p.endOfCommand()
}

// byteTable returns trans by byte, or nil if it is about more than ASCII.
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

// plainChars returns the characters of a string of y; a byte that is not
// UTF-8 becomes a negative number.
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

// charOf is DecodeRuneInString that tells bytes that are not UTF-8 apart.
func charOf(s string) (rune, int) {
	r, w := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && w == 1 {
		return -rune(s[0]), 1
	}
	return r, w
}
