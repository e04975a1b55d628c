package text

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/regex"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Csplit = shell.Command{Name: "csplit", Run: runCsplit}

// A csplitPattern selects the line before which a piece ends.
type csplitPattern struct {
	text   string
	line   int
	re     *regex.Regexp
	offset int
	skip   bool // %…%: the text before is not written
	repeat int  // further times; -1 as often as possible
}

type contextSplitter struct {
	prefix, format               string
	digits                       int
	keep, silent, elide, noMatch bool
	c                            *shell.Call
	ctx                          context.Context
	memory                       cli.Memory // the patterns
	store                        *lineStore
	lines                        []lineEntry
	at                           int // the next line to write
	searched                     int // the next line that a pattern may match
	names                        []string
}

func runCsplit(ctx context.Context, c *shell.Call) error {
	s := contextSplitter{prefix: "xx", digits: 2, c: c, ctx: ctx, memory: cli.Memory{C: c}}
	defer s.memory.Release()
	names, err := cli.Parse(c, cli.Flags{
		"f": &s.prefix, "k": &s.keep, "s q": &s.silent, "z": &s.elide, "suppress-matched": &s.noMatch,
		"n": cli.Number(&s.digits, 0, 255, "invalid number: ‘%s’"),
		"b": func(format string) error {
			var ok bool
			if s.format, ok = integerFormat(format); !ok {
				return errors.New("missing % conversion specification in suffix")
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	switch len(names) {
	case 0:
		return cli.Misuse(c, "missing operand")
	case 1:
		return cli.Misuse(c, "missing operand after ‘%s’", names[0])
	}
	s.store = &lineStore{limiter: c.Limiter, end: '\n', bare: true}
	defer s.store.free()
	err = s.split(names[0], names[1:])
	if err != nil && !s.keep {
		for _, name := range s.names {
			c.FS.Remove(c.Path(name))
		}
	}
	return report(c, err)
}

func (s *contextSplitter) split(name string, words []string) (err error) {
	defer cli.Catch(&err)
	patterns := s.patterns(words)
	s.load(name)
	for i := range patterns {
		p := &patterns[i]
		for n := 0; p.repeat < 0 || n <= p.repeat; n++ {
			cli.Check(context.Cause(s.ctx))
			if !s.apply(p, n) {
				break
			}
		}
	}
	s.write(len(s.lines), false)
	return nil
}

func (s *contextSplitter) patterns(words []string) (list []csplitPattern) {
	for _, w := range words {
		switch {
		case w == "":
			fail(1, "%s: invalid pattern", w)
		case w[0] == '{' && len(list) > 0:
			list[len(list)-1].setRepeat(w)
		case w[0] == '/' || w[0] == '%':
			list = append(list, s.regexPattern(w))
		default:
			n, err := strconv.Atoi(w)
			switch {
			case err != nil || n < 0:
				fail(1, "‘%s’: invalid pattern", w)
			case n == 0:
				fail(1, "%s: line number must be greater than zero", w)
			case len(list) > 0 && list[len(list)-1].line > n:
				fail(1, "line number ‘%s’ is smaller than preceding line number, %d", w, list[len(list)-1].line)
			}
			list = append(list, csplitPattern{text: w, line: n})
		}
	}
	return list
}

// setRepeat reads {N} or {*}.
func (p *csplitPattern) setRepeat(w string) {
	body, closed := strings.CutSuffix(w[1:], "}")
	n, err := strconv.ParseUint(body, 10, 31)
	switch {
	case !closed:
		fail(1, "%s: '}' is required in repeat count", w)
	case body == "*":
		p.repeat = -1
	case err != nil:
		fail(1, "%s: integer required between '{' and '}'", w)
	default:
		p.repeat = int(n)
	}
}

func (s *contextSplitter) regexPattern(w string) csplitPattern {
	end := strings.LastIndexByte(w, w[0])
	if end == 0 {
		fail(1, "%s: closing delimiter '%c' missing", w, w[0])
	}
	p := csplitPattern{text: w, skip: w[0] == '%'}
	var err error
	if after := w[end+1:]; after != "" {
		if p.offset, err = strconv.Atoi(after); err != nil {
			fail(1, "%s: integer expected after delimiter", w)
		}
	}
	if p.re, err = regex.Compile(w[1:end], s.memory.Bound(s.ctx, regex.Options{})); err != nil {
		fail(1, "%s: invalid regular expression: %v", w, err)
	}
	return p
}

func (s *contextSplitter) load(name string) {
	in, done, err := cli.OpenOperand(s.c, name)
	switch {
	case err == vfs.ErrIsDir:
		fail(1, "read error: %s", vfs.Reason(err))
	case err != nil:
		fail(1, "cannot open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
	}
	defer done()
	cli.Check(s.store.load(in))
	s.lines, err = s.store.index(newSortWorkers())
	cli.Check(err)
}

// apply ends a piece before the line that the pattern selects. It reports false when a
// repetition without limit finds nothing more.
func (s *contextSplitter) apply(p *csplitPattern, n int) bool {
	to, found := s.target(p, n)
	switch {
	case !found && p.repeat < 0:
		return false
	case !found:
		s.write(len(s.lines), p.skip)
		s.missing(p, n)
	case to < s.at || to > len(s.lines):
		s.write(len(s.lines), p.skip)
		fail(1, "‘%s’: line number out of range", p.text)
	}
	s.write(to, p.skip)
	if s.noMatch && s.at < len(s.lines) {
		s.at++
	}
	return true
}

// target returns the line before which the piece ends, from 0.
func (s *contextSplitter) target(p *csplitPattern, n int) (int, bool) {
	if p.re == nil {
		to := p.line*(n+1) - 1
		return to, to < len(s.lines)
	}
	for i := s.searched; i < len(s.lines); i++ {
		if p.re.Match(s.store.line(s.lines[i])) {
			s.searched = i + 1 + max(0, p.offset)
			return i + p.offset, true
		}
	}
	return 0, false
}

func (s *contextSplitter) missing(p *csplitPattern, n int) {
	text := "match not found"
	if p.re == nil {
		text = "line number out of range"
	}
	if n > 0 {
		text += fmt.Sprintf(" on repetition %d", n)
	}
	fail(1, "‘%s’: %s", p.text, text)
}

// write makes a piece of the lines before to, or skips them.
func (s *contextSplitter) write(to int, skip bool) {
	from := s.at
	s.at = to
	s.searched = max(s.searched, to)
	if skip || s.elide && from == to {
		return
	}
	name := s.prefix + s.suffix(len(s.names))
	f, err := s.c.Create(name)
	if err != nil {
		fail(1, "%s: %s", name, vfs.Reason(err))
	}
	defer f.Close()
	s.names = append(s.names, name)
	w := stream.NewWriter(f)
	defer w.Release()
	size := 0
	for _, e := range s.lines[from:to] {
		line := s.store.withEnd(e)
		size += len(line)
		w.Write(line)
	}
	cli.Check(w.Flush())
	if !s.silent {
		fmt.Fprintln(s.c.Stdout, size)
	}
	cli.Check(s.c.Stdout.Err())
}

func (s *contextSplitter) suffix(n int) string {
	if s.format == "" {
		return fmt.Sprintf("%0*d", s.digits, n)
	}
	return fmt.Sprintf(s.format, n)
}

var integerVerb = lazyregexp.New(`^((?:[^%]|%%)*%[-+ 0#'1-9.]{0,7})([diuoxX])((?:[^%]|%%)*)$`)

// integerFormat translates a printf format with one integer verb for package fmt.
func integerFormat(format string) (string, bool) {
	m := integerVerb.Get().FindStringSubmatch(format)
	if m == nil {
		return "", false
	}
	return m[1] + strings.NewReplacer("i", "d", "u", "d").Replace(m[2]) + m[3], true
}
