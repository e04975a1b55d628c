package cli

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// CutLine cuts the first record off b. ended is false for a last record
// without its terminator.
func CutLine(b []byte, end byte) (line, rest []byte, ended bool) {
	if i := bytes.IndexByte(b, end); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// EachLine calls f with every record of in, without its terminator.
func EachLine(in *stream.Reader, end byte, f func(line []byte, ended bool) error) error {
	for {
		block, err := in.Records(end)
		if err != nil {
			return NotEOF(err)
		}
		for len(block) > 0 {
			line, rest, ended := CutLine(block, end)
			if err := f(line, ended); err != nil {
				return err
			}
			block = rest
		}
	}
}

// Each calls f with every input in turn, until it or standard output fails.
func Each(c *shell.Call, inputs iter.Seq[shell.Input], f func(in shell.Input) error) error {
	for in := range inputs {
		if err := f(in); err != nil {
			return err
		}
		if err := c.Stdout.Err(); err != nil {
			return err
		}
	}
	return nil
}

// MapLines calls write with every line of the inputs in turn, without its newline, and
// writes a newline after it if the line had one.
func MapLines(c *shell.Call, inputs iter.Seq[shell.Input], write func(line []byte)) error {
	return Each(c, inputs, func(in shell.Input) error {
		return EachLine(in.Reader, '\n', func(line []byte, ended bool) error {
			write(line)
			if ended {
				c.Stdout.WriteByte('\n')
			}
			return c.Stdout.Err()
		})
	})
}

// FieldsFit asks before a line is split: it may be nothing but separators, and
// every field takes more memory than the byte it was cut at.
func FieldsFit(c *shell.Call, line []byte) error {
	if len(line) < stream.Size {
		return nil
	}
	return c.Limiter.Fits(24 * int64(len(line)))
}

// NotEOF turns the end of a stream into success.
func NotEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// Inputs yields the named inputs like [shell.Call.Inputs], but leaves the
// words of a failure to the command.
func Inputs(c *shell.Call, names []string, open func(string) (*vfs.File, error),
	failed func(name string, err error)) iter.Seq[shell.Input] {
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

// openPlain opens a file that can be read, which a directory cannot.
func openPlain(name string, open func(string) (*vfs.File, error)) (*vfs.File, error) {
	f, err := open(name)
	if err == nil && f.IsDir() {
		f.Close()
		return nil, vfs.ErrIsDir
	}
	return f, err
}

// OpenOperand opens a single operand that the command cannot do without, which may
// be standard input. The caller calls done.
func OpenOperand(c *shell.Call, name string) (in shell.Input, done func(), err error) {
	return OpenWith(c, name, c.Open)
}

// OpenWith is [OpenOperand] with another way to open a file.
func OpenWith(c *shell.Call, name string, open func(string) (*vfs.File, error)) (in shell.Input, done func(), err error) {
	if shell.IsStdin(name) {
		return c.StdinInput().Named(name), func() {}, nil
	}
	f, err := openPlain(name, open)
	if err != nil {
		return shell.Input{}, nil, err
	}
	in = shell.Input{Reader: c.Reader(f), Name: name, File: f}
	return in, func() { in.Release(); f.Close() }, nil
}

// ExpandDigits rewrites the old "-5" into "-n", "5" where it is the first
// word; anywhere else it could be the value of an option.
func ExpandDigits(args []string, option string) []string {
	if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || strings.Trim(args[0][1:], "0123456789") != "" {
		return args
	}
	return append([]string{option, args[0][1:]}, args[1:]...)
}

// Finish ends a command that may have warned: its writer's error first.
func Finish(c *shell.Call, err error) error {
	if err != nil {
		return err
	}
	return c.Stdout.Err()
}

// A CountingReader adds the bytes that were read to N.
type CountingReader struct {
	R io.Reader
	N *int64
}

func (c *CountingReader) Read(b []byte) (int, error) {
	n, err := c.R.Read(b)
	*c.N += int64(n)
	return n, err
}

// ReadAll reads everything; the caller gives back the capacity.
func ReadAll(c *shell.Call, in io.Reader) ([]byte, error) {
	var data []byte
	for {
		if len(data) == cap(data) {
			more := max(4<<10, cap(data))
			if err := c.Limiter.Hold(int64(more)); err != nil {
				return data, err
			}
			grown := make([]byte, len(data), cap(data)+more)
			copy(grown, data)
			data = grown
		}
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return data, NotEOF(err)
		}
	}
}
