package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

// A sedSubst is the s command.
type sedSubst struct {
	regex  *sedRegex
	parts  []sedReplace
	plain  []byte // the replacement, if it is nothing but text
	global bool
	print  bool
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
func (p *sedScript) substitution(s *sedRun, cmd *sedCommand) {
	end := p.next()
	if end == 0 || end == '\n' || end == '\\' {
		p.fail("unterminated `s' command")
	}
	pattern, ok := p.delimited(end, true)
	if !ok {
		p.fail("unterminated `s' command")
	}
	replacement := p.replacement(end)
	sub := &sedSubst{}
	cmd.subst = sub
	sub.regex = p.regex(s, pattern, p.substFlags(s, sub))
	highest := sub.parse(replacement)
	if re := sub.regex.re; re != nil && highest > re.NumSubexp() {
		p.fail("invalid reference \\%d on `s' command's RHS", highest)
	}
}

// replacement returns the right side unparsed, except for escaped delimiters.
func (p *sedScript) replacement(end byte) string {
	var out []byte
	for p.pos < len(p.src) {
		c := p.next()
		switch {
		case c == end:
			return string(out)
		case c == '\n':
			p.fail("unterminated `s' command")
		case c == '\\' && p.pos < len(p.src):
			c = p.next()
			if c != end || c == '&' {
				out = append(out, '\\')
			}
		}
		out = append(out, c)
	}
	p.fail("unterminated `s' command")
	return ""
}

func (p *sedScript) substFlags(s *sedRun, sub *sedSubst) (how regex.Options) {
	for {
		switch c := p.next(); c {
		case 'g':
			if sub.global {
				p.fail("multiple `g' options to `s' command")
			}
			sub.global = true
		case 'p':
			if sub.print {
				p.fail("multiple `p' options to `s' command")
			}
			sub.print = true
		case 'i', 'I':
			how.Fold = true
		case 'm', 'M':
			how.Multiline = true
		case 'e':
			p.fail("e flag refused: there are no programs to run in this shell")
		case 'w':
			sub.out = s.outputFile(p.fileName(s))
			return how
		case '1', '2', '3', '4', '5', '6', '7', '8', '9', '0':
			if sub.nth > 0 {
				p.fail("multiple number options to `s' command")
			}
			p.pos--
			if sub.nth = p.integer(0); sub.nth == 0 {
				p.fail("number option to `s' command may not be zero")
			}
		case 0, '\n', ';':
			return how
		case '}', '#':
			p.pos--
			return how
		case ' ', '\t', '\r':
			p.endOfCommand()
			return how
		default:
			p.fail("unknown option to `s'")
		}
	}
}

// parse reads a replacement and returns the highest group it refers to.
func (u *sedSubst) parse(s string) (highest int) {
	var text []byte
	add := func(p sedReplace) {
		if len(text) > 0 {
			u.parts = append(u.parts, sedReplace{text: text, group: -1})
			text = nil
		}
		u.parts = append(u.parts, p)
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			add(sedReplace{group: 0})
		case c != '\\' || i+1 == len(s):
			text = append(text, c)
		case cli.IsDigit(s[i+1]):
			i++
			n := int(s[i] - '0')
			highest = max(highest, n)
			add(sedReplace{group: n})
		case strings.IndexByte("ULulE", s[i+1]) >= 0:
			i++
			add(sedReplace{group: -1, to: s[i]})
		default:
			c, n := escapedChar(s[i+1:])
			text = append(text, c)
			i += n
		}
	}
	if u.parts == nil {
		u.plain = append([]byte{}, text...)
	} else if len(text) > 0 {
		u.parts = append(u.parts, sedReplace{text: text, group: -1})
	}
	return highest
}

// substitute runs the s command on the pattern space.
func (s *sedRun) substitute(u *sedSubst) {
	re := s.use(u.regex)
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
			out = s.replace(u, s.add(out, s.space[at:lo]...), loc)
			at, made = hi, true
			if !u.global {
				break
			}
		}
		if lo == hi {
			from = s.nextChar(from)
		}
		s.tick()
	}
	s.checkRegex(re)
	if !made {
		s.spare = out
		return
	}
	out = s.add(out, s.space[at:]...)
	s.space, s.spare = out, s.space
	s.flag = true
	if u.print {
		s.out.line(s.space, s.ended)
	}
	if u.out != nil {
		u.out.line(s.space, s.ended)
		cli.Check(u.out.w.Err())
	}
}

// replace appends the replacement for a match.
func (s *sedRun) replace(u *sedSubst, out []byte, loc []int) []byte {
	if u.plain != nil {
		return s.add(out, u.plain...)
	}
	s.piece = u.expand(s.piece[:0], s.space, loc)
	return s.add(out, s.piece...)
}

func (s *sedRun) find(re *regex.Regexp, u *sedSubst, from int) []int {
	if u.plain == nil {
		s.loc = re.Find(s.space, from, s.loc)
		return s.loc
	}
	lo, hi := re.FindSpan(s.space, from)
	if lo < 0 {
		return nil
	}
	s.loc = append(s.loc[:0], lo, hi)
	return s.loc
}

// nextChar returns the position after the character at i.
func (s *sedRun) nextChar(i int) int {
	if i >= len(s.space) {
		return i + 1
	}
	_, w := utf8.DecodeRune(s.space[i:])
	return i + w
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

// appendCased appends text in the case of mode, and its first character in that of once.
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
