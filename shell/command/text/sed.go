package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Sed = shell.Command{Name: "sed", Run: runSed}

// A sedRun is one call of sed.
type sedRun struct {
	ctx     context.Context
	c       *shell.Call
	holding cli.Memory // the script and its patterns

	script   sedScript
	quiet    bool
	extended bool
	separate bool
	inPlace  bool
	suffix   string
	end      byte
	wrap     int
	sandbox  bool

	in        *sedInput
	out       *sedOutput
	files     map[string]*sedOutput // of w and W
	lists     map[string]*sedSource // of R
	space     []byte                // the pattern space
	hold      []byte
	spare     []byte // what a substitution is built in
	piece     []byte // one replacement
	ended     bool   // the line that the pattern space ends with had its terminator
	holdEnded bool   // the same of the hold space
	queued    []sedQueued
	last      *sedRegex // for the empty pattern
	loc       []int
	flag      bool // a substitution was made, for t and T
	work      int  // done since the clock was looked at
	held      int64
	status    int
	quit      bool
}

// errSed is a message that ends sed with a status of its own.
type errSed struct {
	status int
	text   string
}

func (e *errSed) Error() string { return e.text }

func runSed(ctx context.Context, c *shell.Call) error {
	s := &sedRun{ctx: ctx, c: c, end: '\n', wrap: 70, holdEnded: true, files: map[string]*sedOutput{},
		lists: map[string]*sedSource{}}
	s.holding.C = c
	defer s.holding.Release()
	names, err := s.options()
	if err == nil {
		err = s.measure()
	}
	if err == nil {
		err = s.script.finish(s)
	}
	if err == nil {
		err = s.run(names)
	}
	s.close()
	var e *errSed
	if errors.As(err, &e) {
		return c.Fail(e.status, "%s", e.text)
	}
	if err != nil {
		return err
	}
	if s.status != 0 {
		return shell.Status(s.status)
	}
	return nil
}

// options reads the options and the script, and returns the input files.
func (s *sedRun) options() ([]string, error) {
	given := false
	names, err := cli.Parse(s.c, cli.Flags{
		"n": &s.quiet, "E": &s.extended, "s": &s.separate, "sandbox": &s.sandbox, "z": cli.Set(&s.end, 0),
		"i": func(suffix string) { s.inPlace, s.separate, s.suffix = true, true, suffix },
		"l": cli.Number(&s.wrap, 0, math.MaxInt, "invalid line length: %s"),
		"e": func(script string) { s.script.add(script, ""); given = true },
		"f": func(name string) error { given = true; return s.scriptFile(name) },
	})
	if err != nil {
		return nil, err
	}
	if !given {
		if len(names) == 0 {
			fmt.Fprintln(s.c.Stderr, "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...")
			return nil, shell.Status(1)
		}
		s.script.add(names[0], "")
		names = names[1:]
	}
	return names, nil
}

// measure charges the script, and refuses one that is too long.
func (s *sedRun) measure() error {
	err := s.holding.Script(s.script.given.Len())
	if err != nil && fault.KindOf(err) != fault.Exhausted {
		return &errSed{1, err.Error()}
	}
	return err
}

func (s *sedRun) scriptFile(name string) error {
	var text []byte
	var err error
	if shell.IsStdin(name) {
		for err == nil {
			var b []byte
			b, err = s.c.Stdin.Chunk()
			text = append(text, b...)
			if e := s.c.Limiter.Fits(int64(len(text))); e != nil {
				return e
			}
			if len(text) > cli.LongestScript {
				break // which measure refuses
			}
		}
		err = nil
	} else {
		text, err = s.c.FS.ReadFile(s.c.Path(name))
	}
	if err != nil {
		return s.c.Fail(4, "couldn't open file %s: %s", name, vfs.Reason(err))
	}
	s.script.add(strings.TrimSuffix(string(text), "\n"), name)
	return nil
}

// add appends to one of the spaces, and charges the session before it grows.
func (s *sedRun) add(buf []byte, text ...byte) ([]byte, error) {
	need := len(buf) + len(text)
	s.work += len(text)
	if need <= cap(buf) {
		return append(buf, text...), nil
	}
	room := max(need+need/2, 256)
	if err := s.c.Limiter.Hold(int64(room)); err != nil {
		return buf, err
	}
	s.held += int64(room - cap(buf))
	grown := append(append(make([]byte, 0, room), buf...), text...)
	s.c.Limiter.Hold(int64(-cap(buf)))
	return grown, nil
}

// sedStep is the work one command counts for, in bytes; sedCheck how much work
// may pass until somebody looks at the clock.
const (
	sedStep  = 256
	sedCheck = 1 << 18
)

// tick ends loops of the script when the time is up.
func (s *sedRun) tick() error {
	if s.work += sedStep; s.work < sedCheck {
		return nil
	}
	s.work = 0
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return s.c.Limiter.Err()
}

func (s *sedRun) close() {
	s.c.Limiter.Hold(-s.held)
	for _, f := range s.files {
		f.close()
	}
	for _, l := range s.lists {
		l.close()
	}
}
