package text

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"hako/shell/command/internal/cli"
	"hako/shell/regex"
)

// A sedQueued is what a, r and R put out at the end of the cycle.
type sedQueued struct {
	text []byte
	file string
	line bool // text is a line that still needs its end
}

// run goes through the input.
func (s *sedRun) run(names []string) error {
	if len(names) == 0 {
		names = []string{"-"}
	}
	if s.out == nil {
		s.out = &sedOutput{w: s.c.Stdout, end: s.end}
	}
	s.in = &sedInput{run: s, names: names}
	if err := s.in.makeGates(); err != nil {
		return err
	}
	for !s.quit {
		ok, err := s.load()
		if err != nil || !ok {
			return s.leave(err)
		}
		if err := s.cycle(); err != nil {
			return s.leave(err)
		}
		if err := s.tick(); err != nil {
			return err
		}
	}
	return s.leave(nil)
}

// leave ends the file that is being read; what q leaves unread of a file
// edited in place is gone, as with GNU.
func (s *sedRun) leave(err error) error {
	if err != nil {
		return err
	}
	if err := s.in.finish(); err != nil {
		return err
	}
	return s.c.Stdout.Err()
}

// load reads the next line into the pattern space.
func (s *sedRun) load() (bool, error) {
	if err := s.in.skip(); err != nil {
		return false, err
	}
	line, ended, ok, err := s.in.read()
	if !ok || err != nil {
		return false, err
	}
	s.ended = ended
	s.space, err = s.add(s.space[:0], line...)
	return true, err
}

// cycle runs the script on the pattern space, again and again if D asks for it.
func (s *sedRun) cycle() error {
	for {
		s.flag = false
		outcome, err := s.commands()
		if err != nil {
			return err
		}
		if outcome == sedPrint && !s.quiet {
			s.out.line(s.space, s.ended)
		}
		if err := s.flushQueue(); err != nil {
			return err
		}
		if outcome != sedAgain {
			return s.out.err()
		}
		if err := s.tick(); err != nil {
			return err
		}
	}
}

// sedOutcome is how a run through the commands ended.
type sedOutcome uint8

const (
	sedGoOn  sedOutcome = iota // not at all: the next command is due
	sedPrint                   // normally
	sedDrop                    // without printing
	sedAgain                   // and begins again without reading
)

func (s *sedRun) commands() (sedOutcome, error) {
	list := s.script.commands
	for i := 0; i < len(list); {
		cmd := &list[i]
		i++
		hit, err := s.selects(cmd)
		if err != nil {
			return 0, err
		}
		if !hit {
			if cmd.name == '{' {
				i = cmd.target
			}
			continue
		}
		switch cmd.name {
		case '{':
		case 'b', 't', 'T':
			if cmd.name == 'b' || s.flag == (cmd.name == 't') {
				i = cmd.target
			}
			if cmd.name != 'b' {
				s.flag = false
			}
			if err := s.tick(); err != nil {
				return 0, err
			}
		default:
			if outcome, err := s.execute(cmd); err != nil || outcome != sedGoOn {
				return outcome, err
			}
		}
	}
	return sedPrint, nil
}

// selects reports whether the addresses of a command select the line.
func (s *sedRun) selects(cmd *sedCommand) (bool, error) {
	if cmd.from == nil {
		return !cmd.not, nil
	}
	var hit bool
	var err error
	if cmd.to == nil {
		hit, err = s.matches(cmd.from)
	} else {
		hit, err = s.inRange(cmd)
	}
	return hit != cmd.not, err
}

func (s *sedRun) matches(a *sedAddress) (bool, error) {
	switch a.kind {
	case 'n':
		return s.in.line == a.n, nil
	case '~':
		return s.in.line >= a.n && (s.in.line-a.n)%a.step == 0, nil
	case '$':
		return s.in.last()
	}
	re, err := s.use(a.regex)
	if err != nil {
		return false, err
	}
	hit := re.Match(s.space)
	if err := re.Err(); err != nil {
		return false, &errSed{4, err.Error()}
	}
	return hit, nil
}

// use returns the pattern, or for an empty one the last used.
func (s *sedRun) use(r *sedRegex) (*regex.Regexp, error) {
	if r.re == nil {
		if s.last == nil {
			return nil, &errSed{1, "-e expression #1, char 0: no previous regular expression"}
		}
		return s.last.re, nil
	}
	s.last = r
	return r.re, nil
}

func (s *sedRun) inRange(cmd *sedCommand) (bool, error) {
	if cmd.active {
		return s.goesOn(cmd)
	}
	hit, err := s.matches(cmd.from)
	if err != nil || !hit || cmd.closed && cmd.from.kind == 'n' {
		return false, err
	}
	line := s.in.line
	switch cmd.to.kind {
	case 'n':
		cmd.until = cmd.to.n
	case '+':
		cmd.until = line + cmd.to.n
	case 'm':
		cmd.until = line
		if cmd.to.n > 0 {
			cmd.until = (line + cmd.to.n - 1) / cmd.to.n * cmd.to.n
		}
	default:
		cmd.active = true
		return true, nil
	}
	cmd.active = cmd.until > line
	return true, nil
}

// goesOn reports whether a range that is under way reaches this line.
func (s *sedRun) goesOn(cmd *sedCommand) (bool, error) {
	switch cmd.to.kind {
	case '$', '/':
		end, err := s.matches(cmd.to)
		cmd.active = !end
		cmd.closed = end
		return true, err
	}
	cmd.active = s.in.line < cmd.until
	return s.in.line <= cmd.until, nil
}

// execute runs a command that does not jump.
func (s *sedRun) execute(cmd *sedCommand) (sedOutcome, error) {
	switch cmd.name {
	case 's':
		return sedGoOn, s.substitute(cmd.subst)
	case 'p':
		s.out.line(s.space, s.ended)
	case 'P':
		first, _, more := bytes.Cut(s.space, []byte{s.end})
		s.out.line(first, more || s.ended)
	case '=':
		s.out.raw(strconv.AppendInt(nil, int64(s.in.line), 10))
		s.out.w.WriteByte('\n')
	case 'F':
		s.out.raw([]byte(s.in.name + "\n"))
	case 'l':
		s.list(cmd.number)
	case 'i':
		s.out.raw(cmd.text)
	case 'a':
		s.queued = append(s.queued, sedQueued{text: cmd.text})
	case 'r':
		s.queued = append(s.queued, sedQueued{file: string(cmd.text)})
	case 'R':
		if line, ok := s.listLine(string(cmd.text)); ok {
			s.queued = append(s.queued, sedQueued{text: line, line: true})
		}
	case 'w', 'W':
		text, more := s.space, false
		if cmd.name == 'W' {
			text, _, more = bytes.Cut(s.space, []byte{s.end})
		}
		cmd.out.line(text, more || s.ended)
		return sedGoOn, cmd.out.err()
	case 'y':
		return sedGoOn, s.transliterate(cmd)
	default:
		return s.executeSpace(cmd)
	}
	return sedGoOn, nil
}

// executeSpace runs the commands about the two spaces, the cycle and its end.
func (s *sedRun) executeSpace(cmd *sedCommand) (sedOutcome, error) {
	switch cmd.name {
	case 'd':
		return sedDrop, nil
	case 'D':
		i := bytes.IndexByte(s.space, s.end)
		if i < 0 {
			return sedDrop, nil
		}
		s.space = append(s.space[:0], s.space[i+1:]...)
		return sedAgain, nil
	case 'c':
		if cmd.to == nil || cmd.not || !cmd.active {
			s.out.raw(cmd.text)
		}
		return sedDrop, nil
	case 'x':
		s.space, s.hold = s.hold, s.space
		s.ended, s.holdEnded = s.holdEnded, s.ended
	case 'z':
		s.space = s.space[:0]
	case 'n', 'N':
		return s.nextLine(cmd.name == 'N')
	case 'q', 'Q':
		s.quit, s.status = true, max(cmd.number, 0)&0xff
		if cmd.name == 'Q' {
			return sedDrop, nil
		}
		return sedPrint, nil
	default:
		return sedGoOn, s.copySpace(cmd.name)
	}
	return sedGoOn, nil
}

// copySpace is g, G, h and H.
func (s *sedRun) copySpace(name byte) (err error) {
	switch name {
	case 'g', 'G':
		s.ended = s.holdEnded
	default:
		s.holdEnded = s.ended
	}
	switch name {
	case 'g':
		s.space, err = s.add(s.space[:0], s.hold...)
	case 'h':
		s.hold, err = s.add(s.hold[:0], s.space...)
	case 'G':
		if s.space, err = s.add(s.space, s.end); err == nil {
			s.space, err = s.add(s.space, s.hold...)
		}
	case 'H':
		if s.hold, err = s.add(s.hold, s.end); err == nil {
			s.hold, err = s.add(s.hold, s.space...)
		}
	}
	if err != nil {
		return err
	}
	return s.tick()
}

// nextLine is n and N. When there is no next line, both end the cycle after
// printing the pattern space.
func (s *sedRun) nextLine(join bool) (sedOutcome, error) {
	last, err := s.in.last()
	if err != nil {
		return 0, err
	}
	if last {
		return sedPrint, nil
	}
	if !join && !s.quiet {
		s.out.line(s.space, s.ended)
	}
	if err := s.flushQueue(); err != nil {
		return 0, err
	}
	line, ended, ok, err := s.in.read()
	if err != nil || !ok {
		return sedPrint, err
	}
	if !join {
		s.space = s.space[:0]
	} else if s.space, err = s.add(s.space, s.end); err != nil {
		return 0, err
	}
	s.ended = ended
	s.space, err = s.add(s.space, line...)
	return sedGoOn, err
}

// flushQueue puts out what a, r and R left.
func (s *sedRun) flushQueue() error {
	for _, q := range s.queued {
		switch {
		case q.line:
			s.out.line(q.text, true)
		case q.file == "":
			s.out.raw(q.text)
		default:
			if err := s.copyFile(q.file); err != nil {
				return err
			}
		}
	}
	s.queued = s.queued[:0]
	return s.out.err()
}

// copyFile puts out a file for r; one that cannot be read is no error.
func (s *sedRun) copyFile(name string) error {
	in := s.c.Stdin
	if name != "/dev/stdin" {
		f, err := s.c.Open(name)
		if err != nil {
			return s.c.Limiter.Err()
		}
		defer f.Close()
		if f.IsDir() {
			return nil
		}
		in = s.c.Reader(f)
		defer in.Release()
	}
	for {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		s.out.raw(b)
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
	}
}

// transliterate is y: in place if only ASCII changes to ASCII.
func (s *sedRun) transliterate(cmd *sedCommand) (err error) {
	if cmd.bytes != nil {
		for i, c := range s.space {
			s.space[i] = cmd.bytes[c]
		}
		return nil
	}
	out := s.spare[:0]
	var char [utf8.UTFMax]byte
	for i := 0; i < len(s.space) && err == nil; {
		r, w := rune(s.space[i]), 1
		if r >= utf8.RuneSelf {
			if r, w = utf8.DecodeRune(s.space[i:]); r == utf8.RuneError && w == 1 {
				r = -rune(s.space[i])
			}
		}
		text := s.space[i : i+w]
		if to, ok := cmd.trans[r]; ok && to < 0 {
			text = append(char[:0], byte(-to))
		} else if ok {
			text = utf8.AppendRune(char[:0], to)
		}
		out, err = s.add(out, text...)
		i += w
	}
	s.space, s.spare = out, s.space
	return err
}

var listEscapes = map[byte]string{'\\': `\\`, 7: `\a`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	'\v': `\v`}

// list prints the pattern space unambiguously.
func (s *sedRun) list(width int) {
	if width < 0 {
		width = s.wrap
	}
	var out []byte
	column := 0
	for _, c := range s.space {
		piece, ok := listEscapes[c]
		switch {
		case ok:
		case c < ' ' || c >= 0x7f:
			piece = fmt.Sprintf("\\%03o", c)
		default:
			piece = string(c)
		}
		if width > 1 && column+len(piece) > width-1 {
			out, column = append(out, "\\\n"...), 0
		}
		out = append(out, piece...)
		column += len(piece)
	}
	s.out.raw(append(out, "$\n"...))
}
