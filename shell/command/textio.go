package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// nextLine cuts the first record off b. ended is false for a last record
// without its terminator.
func nextLine(b []byte, end byte) (line, rest []byte, ended bool) {
	if i := bytes.IndexByte(b, end); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// eachLine calls f with every record of in, without its terminator.
func eachLine(in *stream.Reader, end byte, f func(line []byte, ended bool) error) error {
	for {
		block, err := in.Records(end)
		if err != nil {
			return notEOF(err)
		}
		for len(block) > 0 {
			line, rest, ended := nextLine(block, end)
			if err := f(line, ended); err != nil {
				return err
			}
			block = rest
		}
	}
}

// fieldsFit asks before a line is split: it may be nothing but separators, and
// every field takes more memory than the byte it was cut at.
func fieldsFit(c *shell.Call, line []byte) error {
	if len(line) < stream.Size {
		return nil
	}
	return c.Limiter.Fits(24 * int64(len(line)))
}

// notEOF turns the end of a stream into success.
func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// operands yields the named inputs like [shell.Call.Inputs], but leaves the
// words of a failure to the command.
func operands(c *shell.Call, names []string, open func(string) (*vfs.File, error), failed func(name string, err error)) iter.Seq[shell.Input] {
	if len(names) == 0 {
		names = []string{"-"}
	}
	return func(yield func(shell.Input) bool) {
		for _, name := range names {
			if shell.IsStdin(name) {
				if !yield(c.StdinInput().Named(name)) {
					return
				}
				continue
			}
			f, err := openPlain(name, open)
			if err != nil {
				failed(name, err)
				continue
			}
			in := shell.Input{Reader: c.Reader(f), Name: name, File: f}
			more := yield(in)
			in.Release()
			f.Close()
			if !more {
				return
			}
		}
	}
}

// openPlain opens something that can be read, which a directory cannot.
func openPlain(name string, open func(string) (*vfs.File, error)) (*vfs.File, error) {
	f, err := open(name)
	if err == nil && f.IsDir() {
		f.Close()
		return nil, vfs.ErrIsDir
	}
	return f, err
}

// openOne opens a single operand that the command cannot do without, which may
// be standard input. The caller calls done.
func openOne(c *shell.Call, name string) (in shell.Input, done func(), err error) {
	if shell.IsStdin(name) {
		return c.StdinInput().Named(name), func() {}, nil
	}
	f, err := openPlain(name, c.Open)
	if err != nil {
		return shell.Input{}, nil, err
	}
	in = shell.Input{Reader: c.Reader(f), Name: name, File: f}
	return in, func() { in.Release(); f.Close() }, nil
}

// compiled makes a regular expression when it is first needed: a shell is started
// often, and has many commands that are not used.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// multipliers are the suffixes GNU knows after a number of bytes or lines.
var multipliers = map[string]float64{
	"": 1, "b": 512, "c": 1, "w": 2,
	"kB": 1e3, "KB": 1e3, "k": 1 << 10, "K": 1 << 10, "KiB": 1 << 10,
	"MB": 1e6, "m": 1 << 20, "M": 1 << 20, "MiB": 1 << 20,
	"GB": 1e9, "g": 1 << 30, "G": 1 << 30, "GiB": 1 << 30,
	"TB": 1e12, "T": 1 << 40, "TiB": 1 << 40,
	"PB": 1e15, "P": 1 << 50, "PiB": 1 << 50,
	"EB": 1e18, "E": 1 << 60, "EiB": 1 << 60,
}

// parseAmount reads "10", "4K", "1MB". What does not fit becomes the largest number.
func parseAmount(text string) (int64, bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	factor, known := multipliers[text[digits:]]
	if digits == 0 || !known {
		return 0, false
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil || float64(n)*factor >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return n * int64(factor), true
}

// expandDigits rewrites the old "-5" into "-n", "5" where it is the first
// word; anywhere else it could be the value of an option.
func expandDigits(args []string, option string) []string {
	if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || strings.Trim(args[0][1:], "0123456789") != "" {
		return args
	}
	return append([]string{option, args[0][1:]}, args[1:]...)
}

// finish ends a command that may have warned: its writer's error first.
func finish(c *shell.Call, err error) error {
	if err != nil {
		return err
	}
	return c.Stdout.Err()
}

// every calls ctx.Err now and then in a loop that does no input or output.
type every struct {
	ctx context.Context
	n   uint
}

func (e *every) err() error {
	if e.n++; e.n&4095 != 0 {
		return nil
	}
	return e.ctx.Err()
}

// usageError is a message with its arguments, for [usage].
type usageError struct {
	format string
	args   []any
}

func (e usageError) Error() string { return fmt.Sprintf(e.format, e.args...) }
