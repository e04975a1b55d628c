// Package awk is an implementation of the awk language that lives inside
// somebody else's limits: it parses a program, compiles it to closures and
// runs it over streams, files and a clock that are all handed to it.
//
// Commands run only through [Config.Command]. The one rule to keep: nothing
// grows before [Config.Grow] was asked, and every loop passes [machine.tick].
package awk

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"hako/shell/stream"
)

// A Source is one piece of program text. An empty Name is the command line.
type Source struct{ Name, Text string }

// Config is the world a program runs in.
type Config struct {
	Name   string // of the command in messages; empty means "awk"
	Stdin  *stream.Reader
	Output *stream.Writer
	Error  io.Writer // nil discards

	Open   func(name string) (io.ReadCloser, error)             // nil: no files can be read
	Create func(name string, more bool) (io.WriteCloser, error) // more appends; nil: none can be written
	Reason func(error) string                                   // words for an error of the two; nil: its own
	IsDir  func(name string) bool                               // operands to skip; nil: none

	// Command prepares a command line of a shell; run, which is called once and
	// maybe in another goroutine, runs it to its end and returns its status.
	// An error stops the program. Nil: no commands can be started.
	Command func(ctx context.Context, text string, io Streams) (run func() (status int, err error), err error)

	Args    []string // operands: files and assignments
	Vars    []string // name=value, set before BEGIN
	Environ []string // name=value
	FS      string   // field separator, if HasFS
	HasFS   bool
	CSV     bool // records and fields are comma-separated values

	// Sandbox leaves a program nothing but its operands, standard input and
	// standard output: one that has system(), a redirection or a pipe in it
	// does not start, ENVIRON is empty, and no operand can be added.
	Sandbox bool

	Now  func() time.Time    // nil: time stands still at its beginning
	Grow func(n int64) error // asked before n bytes are held; negative gives back; nil permits all
}

// A Program is parsed and compiled source. It can run once: its closures keep
// what they built.
type Program struct {
	begin, end, beginFile, endFile []stmt
	rules                          []*rule
	funcs                          map[string]*function
	globals                        map[string]*symbol
	slots, arrays                  int // of global scalars and arrays

	patterns []*regex // those in the source

	reach *reach // why it may not run in the sandbox; nil: it may
	where string // what messages call the source
	code  code
}

// code is a Program compiled.
type code struct {
	begin, end, beginFile, endFile []stmtFn
	rules                          []ruleFn
}

// An Error is a message of the parser or of a running program, in full, and
// the status it ends with.
type Error struct {
	Text   string
	Status int
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Parse reads and compiles a program. Warnings go to warn in full; nil
// discards them.
func Parse(name string, sources []Source, warn io.Writer) (prog *Program, err error) {
	prog = newProgram()
	p := &parser{prog: prog}
	var at Source
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *syntaxError:
			err = e.in(name, at)
		case *patternError:
			err = &Error{fmt.Sprintf("%s: %s:%d: error: %s", name, sourceName(at), e.line, e.why), 1}
		case *fatal:
			err = &Error{fmt.Sprintf("%s: %s:%d: fatal: %s", name, sourceName(at), e.line, e.why), 2}
		default:
			panic(e)
		}
	}()
	for _, at = range sources {
		p.where = sourceName(at)
		p.lexer = lexer{src: at.Text, line: 1, warn: func(line int, text string) {
			if warn != nil {
				fmt.Fprintf(warn, "%s: %s:%d: %s\n", name, sourceName(at), line, text)
			}
		}}
		p.source()
	}
	prog.where = sourceName(at)
	p.resolve()
	compileProgram(prog)
	return prog, nil
}

func sourceName(s Source) string {
	if s.Name == "" {
		return "cmd. line"
	}
	return s.Name
}

// in puts the message together with the offending line and a mark below it.
func (e *syntaxError) in(name string, src Source) error {
	head := fmt.Sprintf("%s: %s:%d: ", name, sourceName(src), e.line)
	line, col := lineAt(src.Text, e.pos)
	if len(line) > 200 { // a generated program may be one line
		return &Error{head + e.why, 1}
	}
	return &Error{head + line + "\n" + head + strings.Repeat(" ", col) + "^ " + e.why, 1}
}

// Run executes a program and returns its exit status. An error that is no
// [Error] comes from the context, from Grow or from writing.
func Run(ctx context.Context, prog *Program, cfg *Config) (status int, err error) {
	if cfg.Sandbox {
		if cfg, err = cfg.sealed(prog); err != nil {
			return 2, err
		}
	}
	m := newMachine(ctx, prog, cfg)
	defer m.release()
	defer func() {
		if e := m.closeAll(err); err == nil {
			err = e
		}
	}()
	if err := m.run(); err != nil {
		return 2, err
	}
	return m.status, nil
}
