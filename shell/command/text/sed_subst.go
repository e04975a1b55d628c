package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"hako/shell/regex"
)

// A sedSubst is the s command.
type sedSubst struct {
	regex  *sedRegex
	parts  []sedReplace
	plain  []byte // the replacement, if it is nothing but text
	global bool
	print  int
	nth    int // the first match to replace
	out    *sedOutput
}

// A sedReplace is a piece of a replacement.
type sedReplace struct {
	text  []byte
	group int  // -1 for text
	to    byte // U, L, u, l or E: a change of case; 0 for none
}

// substitution parses s.
func (p *sedScript) substitution(s *sedRun, cmd *sedCommand) error {
	end := p.next()
	if end == 0 || end == '\n' || end == '\\' {
		return p.fail("unterminated `s' command")
	}
	pattern, ok := p.delimited(end, true)
	replacement, ok2 := "", false
	if ok {
		replacement, ok2 = p.replacement(end)
	}
	if !ok || !ok2 {
		return p.fail("unterminated `s' command")
	}
	sub := &sedSubst{}
	cmd.subst = sub
	how, err := p.substFlags(s, sub)
	if err != nil {
		return err
	}
	if sub.regex, err = p.regex(s, pattern, how); err != nil {
		return err
	}
	most := sub.parse(replacement)
	if re := sub.regex.re; re != nil && most > re.NumSubexp() {
		return p.fail("invalid reference \\%d on `s' command's RHS", most)
	}
	return nil
}

// replacement takes the right side as it stands, but for an escaped delimiter.
func (p *sedScript) replacement(end byte) (string, bool) {
	var out []byte
	for p.pos < len(p.src) {
		c := p.next()
		switch {
		case c == end:
			return string(out), true
		case c == '\n':
			return "", false
		case c == '\\' && p.pos < len(p.src):
			d := p.next()
			if d != end || d == '&' {
				out = append(out, '\\')
			}
			out = append(out, d)
		default:
			out = append(out, c)
		}
	}
	return "", false
}

func (p *sedScript) substFlags(s *sedRun, sub *sedSubst) (how regex.Options, err error) {
	for {
		switch c := p.next(); c {
		case 'g':
			if sub.global {
				return how, p.fail("multiple `g' options to `s' command")
			}
			sub.global = true
		case 'p':
			if sub.print > 0 {
				return how, p.fail("multiple `p' options to `s' command")
			}
			sub.print++
		case 'i', 'I':
			how.Fold = true
		case 'm', 'M':
			how.Multiline = true
		case 'e':
			return how, p.fail("e flag refused: there are no programs to run in this shell")
		case 'w':
			var cmd sedCommand
			cmd.name = 'w'
			err = p.fileName(s, &cmd)
			sub.out = cmd.out
			return how, err
		case '1', '2', '3', '4', '5', '6', '7', '8', '9', '0':
			if sub.nth > 0 {
				return how, p.fail("multiple number options to `s' command")
			}
			p.pos--
			if sub.nth = p.integer(0); sub.nth == 0 {
				return how, p.fail("number option to `s' command may not be zero")
			}
		default:
			return how, p.endOfSubst(c)
		}
	}
}

func (p *sedScript) endOfSubst(c byte) error {
	switch c {
	case 0, '\n', ';':
		return nil
	case '}', '#':
		p.pos--
		return nil
	case ' ', '\t', '\r':
		return p.endOfCommand()
	}
	return p.fail("unknown option to `s'")
}

// parse reads a replacement and returns the highest group it names.
func (u *sedSubst) parse(s string) (most int) {
	var text []byte
	flush := func() {
		if len(text) > 0 {
			u.parts = append(u.parts, sedReplace{text: text, group: -1})
			text = nil
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			flush()
			u.parts = append(u.parts, sedReplace{group: 0})
		case c != '\\' || i+1 == len(s):
			text = append(text, c)
		case s[i+1] >= '0' && s[i+1] <= '9':
			flush()
			i++
			n := int(s[i] - '0')
			most = max(most, n)
			u.parts = append(u.parts, sedReplace{group: n})
		case bytes.IndexByte([]byte("ULulE"), s[i+1]) >= 0:
			flush()
			i++
			u.parts = append(u.parts, sedReplace{group: -1, to: s[i]})
		default:
			c, n := charEscape(s[i+1:])
			if n == 0 {
				c, n = s[i+1], 1
			}
			text = append(text, c)
			i += n
		}
	}
	flush()
	if len(u.parts) == 0 || len(u.parts) == 1 && u.parts[0].group < 0 && u.parts[0].to == 0 {
		u.plain = []byte{}
		for _, p := range u.parts {
			u.plain = p.text
		}
	}
	return most
}

// substitute runs the s command on the pattern space.
func (s *sedRun) substitute(u *sedSubst) error {
	re, err := s.use(u.regex)
	if err != nil {
		return err
	}
	out, at, from, last := s.spare[:0], 0, 0, -1
	made := false
	for n := 1; from <= len(s.space); n++ {
		loc := s.find(re, u, from)
		if loc == nil {
			break
		}
		lo, hi := loc[0], loc[1]
		if lo == hi && lo == last { // empty, right after a match
			n--
			from = s.nextChar(from)
			continue
		}
		from, last = hi, hi
		if n >= max(u.nth, 1) {
			if out, err = s.replace(u, out, s.space[at:lo], loc); err != nil {
				return err
			}
			at, made = hi, true
			if !u.global {
				break
			}
		}
		if lo == hi {
			from = s.nextChar(from)
		}
		if err := s.tick(); err != nil {
			return err
		}
	}
	if err := re.Err(); err != nil {
		return &errSed{4, err.Error()}
	}
	if !made {
		s.spare = out
		return nil
	}
	if out, err = s.add(out, s.space[at:]...); err != nil {
		return err
	}
	s.space, s.spare = out, s.space
	s.flag = true
	return s.substituted(u)
}

// replace appends what stands before a match, and its replacement.
func (s *sedRun) replace(u *sedSubst, out, before []byte, loc []int) ([]byte, error) {
	out, err := s.add(out, before...)
	if err != nil {
		return nil, err
	}
	if u.plain != nil {
		return s.add(out, u.plain...)
	}
	s.piece = u.expand(s.piece[:0], s.space, loc)
	return s.add(out, s.piece...)
}

func (s *sedRun) find(re *regex.Regexp, u *sedSubst, from int) []int {
	if u.plain == nil {
		s.loc = re.Find(s.space, from, s.loc)
		if s.loc == nil {
			return nil
		}
		return s.loc
	}
	lo, hi := re.FindSpan(s.space, from)
	if lo < 0 {
		return nil
	}
	s.loc = append(s.loc[:0], lo, hi)
	return s.loc
}

// nextChar returns the place after the character at i.
func (s *sedRun) nextChar(i int) int {
	if i >= len(s.space) {
		return i + 1
	}
	_, w := utf8.DecodeRune(s.space[i:])
	return i + w
}

// substituted does what the flags p and w ask for.
func (s *sedRun) substituted(u *sedSubst) error {
	if u.print > 0 {
		s.out.line(s.space, s.ended)
	}
	if u.out != nil {
		u.out.line(s.space, s.ended)
		return u.out.err()
	}
	return nil
}

// expand appends the replacement for one match.
func (u *sedSubst) expand(out, space []byte, loc []int) []byte {
	var mode, once byte
	for _, p := range u.parts {
		text := p.text
		switch {
		case p.to == 'U' || p.to == 'L':
			mode, once = p.to, 0
		case p.to == 'E':
			mode = 0
		case p.to != 0:
			once = p.to
		case p.group >= 0:
			text = nil
			if 2*p.group+1 < len(loc) && loc[2*p.group] >= 0 {
				text = space[loc[2*p.group]:loc[2*p.group+1]]
			}
		}
		if len(text) > 0 {
			out = appendCased(out, text, mode, once)
			once = 0
		}
	}
	return out
}

// appendCased appends text in the case that mode asks for, and its first
// character in that of once.
func appendCased(out, text []byte, mode, once byte) []byte {
	if mode == 0 && once == 0 {
		return append(out, text...)
	}
	for len(text) > 0 {
		r, w := utf8.DecodeRune(text)
		change := mode
		if once != 0 {
			change, once = once, 0
		}
		switch {
		case r == utf8.RuneError && w == 1:
			out = append(out, text[0])
		case change == 'U' || change == 'u':
			out = utf8.AppendRune(out, unicode.ToUpper(r))
		case change == 'L' || change == 'l':
			out = utf8.AppendRune(out, unicode.ToLower(r))
		default:
			out = utf8.AppendRune(out, r)
		}
		text = text[w:]
	}
	return out
}
