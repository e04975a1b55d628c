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

// A sedQueued is output of a, r and R for the end of the cycle.
type sedQueued struct {
	text []byte
	file string
	line bool // text is a line without its terminator
}

// run executes the script on the input.
func (s *sedRun) run(names []string) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	if s.out == nil {
		s.out = &sedOutput{w: s.c.Stdout, end: s.end}
	}
	s.in = &sedInput{run: s, names: names}
	s.in.makeSelectors()
	for !s.quit && s.load() {
		s.cycle()
		s.tick()
	}
	s.in.finish() // what q leaves unread of a file edited in place is lost, as with GNU
	cli.Check(s.c.Stdout.Err())
}

// load reads the next line into the pattern space.
func (s *sedRun) load() bool {
	s.in.skip()
	line, ended, ok := s.in.read()
	if ok {
		s.ended = ended
		s.space = s.add(s.space[:0], line...)
	}
	return ok
}

// cycle runs the script on the pattern space, and repeats it after D.
func (s *sedRun) cycle() {
	for {
		s.flag = false
		outcome := s.commands()
		if outcome == sedPrint && !s.quiet {
			s.out.line(s.space, s.ended)
		}
		s.flushQueue()
		if outcome != sedAgain {
			return
		}
		s.tick()
	}
}

// sedOutcome is how a pass through the commands ended.
type sedOutcome uint8

const (
	sedGoOn  sedOutcome = iota // the next command follows
	sedPrint                   // normally
	sedDrop                    // without printing
	sedAgain                   // to begin again without reading
)

func (s *sedRun) commands() sedOutcome {
	list := s.script.commands
	for i := 0; i < len(list); {
		cmd := &list[i]
		i++
		if !s.selects(cmd) {
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
			s.tick()
		default:
			if outcome := s.execute(cmd); outcome != sedGoOn {
				return outcome
			}
		}
	}
	return sedPrint
}

// selects reports whether the addresses of a command select the line.
func (s *sedRun) selects(cmd *sedCommand) bool {
	switch {
	case cmd.from == nil:
		return !cmd.not
	case cmd.to == nil:
		return s.matches(cmd.from) != cmd.not
	}
	return s.inRange(cmd) != cmd.not
}

func (s *sedRun) matches(a *sedAddress) bool {
	switch a.kind {
	case 'n':
		return s.in.line == a.n
	case '~':
		return s.in.line >= a.n && (s.in.line-a.n)%a.step == 0
	case '$':
		return s.in.last()
	}
	re := s.use(a.regex)
	hit := re.Match(s.space)
	s.checkRegex(re)
	return hit
}

// checkRegex ends the script if a match was given up.
func (s *sedRun) checkRegex(re *regex.Regexp) {
	if err := re.Err(); err != nil {
		fail(4, "%v", err)
	}
}

// use returns the pattern; an empty one means the pattern that was used last.
func (s *sedRun) use(r *sedRegex) *regex.Regexp {
	if r.re != nil {
		s.last = r
	}
	if s.last == nil {
		fail(1, "-e expression #1, char 0: no previous regular expression")
	}
	return s.last.re
}

func (s *sedRun) inRange(cmd *sedCommand) bool {
	line := s.in.line
	if cmd.active {
		if cmd.to.kind == '$' || cmd.to.kind == '/' {
			cmd.closed = s.matches(cmd.to)
			cmd.active = !cmd.closed
			return true
		}
		cmd.active = line < cmd.until
		return line <= cmd.until
	}
	if !s.matches(cmd.from) || cmd.closed && cmd.from.kind == 'n' {
		return false
	}
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
		return true
	}
	cmd.active = cmd.until > line
	return true
}

// execute runs a command that does not jump.
func (s *sedRun) execute(cmd *sedCommand) sedOutcome {
	switch cmd.name {
	case 's':
		s.substitute(cmd.subst)
	case 'p':
		s.out.line(s.space, s.ended)
	case 'P':
		s.firstLine(s.out)
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
	case 'w':
		cmd.out.line(s.space, s.ended)
		cli.Check(cmd.out.w.Err())
	case 'W':
		s.firstLine(cmd.out)
		cli.Check(cmd.out.w.Err())
	case 'y':
		s.transliterate(cmd)
	default:
		return s.executeSpace(cmd)
	}
	return sedGoOn
}

// firstLine writes the first line of the pattern space.
func (s *sedRun) firstLine(to *sedOutput) {
	first, _, more := bytes.Cut(s.space, []byte{s.end})
	to.line(first, more || s.ended)
}

// executeSpace runs the commands that change the spaces or end the cycle.
func (s *sedRun) executeSpace(cmd *sedCommand) sedOutcome {
	switch cmd.name {
	case 'd':
		return sedDrop
	case 'D':
		i := bytes.IndexByte(s.space, s.end)
		if i < 0 {
			return sedDrop
		}
		s.space = append(s.space[:0], s.space[i+1:]...)
		return sedAgain
	case 'c':
		if cmd.to == nil || cmd.not || !cmd.active {
			s.out.raw(cmd.text)
		}
		return sedDrop
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
			return sedDrop
		}
		return sedPrint
	case 'g', 'G':
		s.space, s.ended = s.copySpace(cmd.name == 'G', s.space, s.hold), s.holdEnded
	case 'h', 'H':
		s.hold, s.holdEnded = s.copySpace(cmd.name == 'H', s.hold, s.space), s.ended
	}
	return sedGoOn
}

// copySpace copies one space to another, or appends it.
func (s *sedRun) copySpace(more bool, to, from []byte) []byte {
	s.tick()
	if more {
		to = s.add(to, s.end)
	} else {
		to = to[:0]
	}
	return s.add(to, from...)
}

// nextLine is n and N. If there is no next line, both end the cycle after printing the
// pattern space.
func (s *sedRun) nextLine(join bool) sedOutcome {
	if s.in.last() {
		return sedPrint
	}
	if !join && !s.quiet {
		s.out.line(s.space, s.ended)
	}
	s.flushQueue()
	line, ended, ok := s.in.read()
	if !ok {
		return sedPrint
	}
	if join {
		s.space = s.add(s.space, s.end)
	} else {
		s.space = s.space[:0]
	}
	s.ended = ended
	s.space = s.add(s.space, line...)
	return sedGoOn
}

// flushQueue writes the queued output of a, r and R.
func (s *sedRun) flushQueue() {
	for _, q := range s.queued {
		switch {
		case q.line:
			s.out.line(q.text, true)
		case q.file == "":
			s.out.raw(q.text)
		default:
			s.copyFile(q.file)
		}
	}
	s.queued = s.queued[:0]
	cli.Check(s.out.w.Err())
}

// copyFile writes a file for r. One that cannot be read is not an error.
func (s *sedRun) copyFile(name string) {
	in := s.c.Stdin
	if name != "/dev/stdin" {
		f, err := s.c.Open(name)
		if err != nil {
			cli.Check(s.c.Limiter.Err())
			return
		}
		defer f.Close()
		if f.IsDir() {
			return
		}
		in = s.c.Reader(f)
		defer in.Release()
	}
	for b := chunk(in); b != nil; b = chunk(in) {
		s.out.raw(b)
		cli.Check(context.Cause(s.ctx))
	}
}

// transliterate is y. It works in place if ASCII becomes ASCII.
func (s *sedRun) transliterate(cmd *sedCommand) {
	if cmd.bytes != nil {
		for i, c := range s.space {
			s.space[i] = cmd.bytes[c]
		}
		return
	}
	out := s.spare[:0]
	var char [utf8.UTFMax]byte
	for i := 0; i < len(s.space); {
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
		out = s.add(out, text...)
		i += w
	}
	s.space, s.spare = out, s.space
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
