package text

import (
	"context"
	"fmt"
	"io"
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
	ctx    context.Context
	c      *shell.Call
	memory cli.Memory // the script and its patterns

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
	ended     bool   // the last line of the pattern space had its terminator
	holdEnded bool   // the same for the hold space
	queued    []sedQueued
	last      *sedRegex // for the empty pattern
	loc       []int
	flag      bool // a substitution was made, for t and T
	work      int  // since the last check of the time limit
	held      int64
	status    int
	quit      bool
}

func runSed(ctx context.Context, c *shell.Call) error {
	s := &sedRun{ctx: ctx, c: c, end: '\n', wrap: 70, holdEnded: true, files: map[string]*sedOutput{},
		lists: map[string]*sedSource{}}
	s.memory.C = c
	defer s.memory.Release()
	err := s.main()
	s.close()
	return cli.StatusOr(s.status, report(c, err))
}

// main parses the command line and the script, and runs the script on the input files.
func (s *sedRun) main() (err error) {
	defer cli.Catch(&err)
	names, err := s.options()
	cli.Check(err)
	s.measure()
	s.script.parse(s)
	s.run(names)
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

// measure charges the memory of the script, and refuses one that is too long.
func (s *sedRun) measure() {
	err := s.memory.Script(s.script.given.Len())
	if err != nil && fault.KindOf(err) != fault.Exhausted {
		fail(1, "%v", err)
	}
	cli.Check(err)
}

func (s *sedRun) scriptFile(name string) (err error) {
	var text []byte
	if shell.IsStdin(name) {
		text, err = io.ReadAll(io.LimitReader(s.c.Stdin, cli.LongestScript+1)) // measure refuses a longer one
	} else {
		text, err = s.c.FS.ReadFile(s.c.Path(name))
	}
	if err != nil {
		return s.c.Fail(4, "couldn't open file %s: %s", name, vfs.Reason(err))
	}
	s.script.add(strings.TrimSuffix(string(text), "\n"), name)
	return nil
}

// add appends to one of the spaces. It charges the memory before the space grows.
func (s *sedRun) add(buf []byte, text ...byte) []byte {
	need := len(buf) + len(text)
	s.work += len(text)
	if need <= cap(buf) {
		return append(buf, text...)
	}
	room := max(need+need/2, 256)
	cli.Check(s.c.Limiter.Hold(int64(room)))
	s.held += int64(room - cap(buf))
	grown := append(append(make([]byte, 0, room), buf...), text...)
	s.c.Limiter.Hold(int64(-cap(buf)))
	return grown
}

// sedStep is the work that one command counts for, in bytes; sedCheck is how much work
// is done between two checks of the time limit.
const (
	sedStep  = 256
	sedCheck = 1 << 18
)

// tick ends a script whose time is up.
func (s *sedRun) tick() {
	if s.work += sedStep; s.work < sedCheck {
		return
	}
	s.work = 0
	cli.CheckStopped(s.ctx, s.c)
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
