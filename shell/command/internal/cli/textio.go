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

// CutLine cuts the first record off b. ended is false for a last record without its
// terminator.
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

// FieldsFit checks the memory limit before a line is split. The line may consist of
// separators, and every field takes more memory than its separator.
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

// Inputs yields the operands like [shell.Call.Inputs], but calls failed for those that
// cannot be opened.
func Inputs(c *shell.Call, names []string, open func(string) (*vfs.File, error),
	failed func(name string, err error)) iter.Seq[shell.Input] {
	if len(names) == 0 {
		names = []string{"-"}
	}
	return func(yield func(shell.Input) bool) {
		for _, name := range names {
			in, done, err := OpenWith(c, name, open)
			if err != nil {
				failed(name, err)
				continue
			}
			more := yield(in)
			done()
			if !more {
				return
			}
		}
	}
}

// OpenOperand opens an operand that is required, which may be standard input. The caller
// calls done.
func OpenOperand(c *shell.Call, name string) (in shell.Input, done func(), err error) {
	return OpenWith(c, name, c.Open)
}

// OpenWith is [OpenOperand] with another way to open a file. A directory is an error.
func OpenWith(c *shell.Call, name string, open func(string) (*vfs.File, error)) (in shell.Input, done func(), err error) {
	if shell.IsStdin(name) {
		return c.StdinInput().Named(name), func() {}, nil
	}
	f, err := open(name)
	if err != nil {
		return in, nil, err
	}
	if f.IsDir() {
		f.Close()
		return in, nil, vfs.ErrIsDir
	}
	in = shell.Input{Reader: c.Reader(f), Name: name, File: f}
	return in, func() { in.Release(); f.Close() }, nil
}

// ExpandDigits replaces the old "-5" by "-n", "5" if it is the first word. Elsewhere it
// could be the value of an option.
func ExpandDigits(args []string, option string) []string {
	if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || strings.Trim(args[0][1:], "0123456789") != "" {
		return args
	}
	return append([]string{option, args[0][1:]}, args[1:]...)
}

// A CountingReader adds the number of bytes it reads to N.
type CountingReader struct {
	R io.Reader
	N *int64
}

func (c *CountingReader) Read(b []byte) (int, error) {
	n, err := c.R.Read(b)
	*c.N += int64(n)
	return n, err
}

// ReadAll reads everything and charges its capacity, which the caller releases.
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
