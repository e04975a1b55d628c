// Package term handles the terminal: it asks questions, edits lines, runs an interactive shell and reports errors.
// Nothing that a model says can look like text of hako.
package term

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"hako/run"
	"hako/run/fault"
	"hako/shell/stream"
)

// Streams are the standard streams of a program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Keys     io.Reader // In; a terminal can be read by several readers in turn

	lock *outputLock // held while a question is open; nil means that none is asked there
}

// NewStreams returns the streams. If a person can be asked at the terminal, output blocks while a question is open.
func NewStreams(in io.Reader, out, err io.Writer) Streams {
	s := Streams{In: in, Out: out, Err: err, Keys: in}
	if Is(in) {
		s.Keys = stream.NewShared(in)
	}
	if Is(in) && Is(err) { // where [Streams.Ask] asks
		s.Out, s.Err, s.lock = locked(out, err)
	}
	return s
}

// ReadScript reads the script that the first argument names into req, or standard input without arguments or with "-",
// in which case the script itself has no standard input. The program is named in a hint.
func (s Streams) ReadScript(program string, args []string, req *run.Request) error {
	req.Args = args[min(1, len(args)):]
	if len(args) == 0 || args[0] == "-" {
		src, err := io.ReadAll(s.In)
		req.Script, req.Stdin = string(src), nil
		return err
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return &fault.Error{Kind: fault.NotFound, Op: "read script", Subject: args[0], Err: reasonOf(err),
			Hint: "to run a command rather than a file: " + program + " -c '" + strings.Join(args, " ") + "'"}
	}
	req.Script, req.File, req.Stdin = string(src), args[0], s.Keys
	return nil
}

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf returns the file behind a stream; nil means none.
func fileOf(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *lockedOutput:
		return s.file
	case *Written:
		return fileOf(s.Writer)
	}
	return nil
}

// Columns returns the width of a terminal; zero means unknown.
func Columns(out io.Writer) int {
	if f := fileOf(out); f != nil {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}
