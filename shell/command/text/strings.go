package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Strings = shell.Command{Name: "strings", Run: runStrings}

type stringsScan struct {
	*shell.Call
	least              int
	radix              int
	names, white, wide bool
}

func runStrings(ctx context.Context, c *shell.Call) error {
	s := &stringsScan{Call: c, least: 4}
	c.Args = slices.Clone(c.Args)
	for i, a := range c.Args { // -8 is short for -n 8
		if len(a) > 1 && a[0] == '-' && cli.IsDigit(a[1]) {
			c.Args[i] = "-n" + a[1:]
		}
	}
	names, err := cli.Parse(c, cli.Flags{
		"f": &s.names, "w": &s.white,
		"n": cli.Number(&s.least, 1, math.MaxInt, "invalid minimum string length %s"),
		"t o": func(radix string) error {
			if s.radix = map[string]int{"": 8, "o": 8, "d": 10, "x": 16}[radix]; s.radix == 0 {
				return shell.ErrUsage
			}
			return nil
		},
		"e": func(encoding string) error {
			if encoding != "s" && encoding != "S" {
				return errors.New("only the encodings s and S are available here")
			}
			s.wide = encoding == "S"
			return nil
		},
	})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return s.scan("{standard input}", c.Stdin)
	}
	for _, name := range names {
		if err := s.file(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *stringsScan) file(name string) error {
	f, err := s.OpenBytes(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Warn("'%s': No such file", name)
		return nil
	case err != nil:
		s.Warn("%s: %s", name, vfs.Reason(err))
		return nil
	}
	defer f.Close()
	if f.IsDir() {
		s.Warn("Warning: '%s' is a directory", name)
		return nil
	}
	return s.scan(name, f)
}

// scan prints every run of printable characters. A run is buffered only until it is long
// enough to be printed.
func (s *stringsScan) scan(name string, in io.Reader) error {
	if err := s.Limiter.Fits(int64(s.least)); err != nil {
		return err
	}
	var run []byte
	buf := make([]byte, 64<<10)
	at, open := int64(0), false
	for {
		n, err := in.Read(buf)
		for _, ch := range buf[:n] {
			at++
			switch {
			case !s.printable(ch):
				if open {
					s.Stdout.WriteByte('\n')
				}
				open, run = false, run[:0]
			case open:
				s.Stdout.WriteByte(ch)
			default:
				if run = append(run, ch); len(run) >= s.least {
					s.begin(name, at-int64(len(run)))
					s.Stdout.Write(run)
					open, run = true, run[:0]
				}
			}
		}
		if s.Stdout.Err() != nil {
			return s.Stdout.Err()
		}
		if err == io.EOF {
			if open {
				s.Stdout.WriteByte('\n')
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *stringsScan) begin(name string, at int64) {
	if s.names {
		s.Stdout.WriteString(name + ": ")
	}
	if s.radix > 0 {
		fmt.Fprintf(s.Stdout, "%7s ", strconv.FormatInt(at, s.radix))
	}
}

func (s *stringsScan) printable(ch byte) bool {
	switch {
	case ch >= ' ' && ch <= '~' || ch == '\t':
		return true
	case s.white && (ch == '\n' || ch == '\r' || ch == '\v' || ch == '\f'):
		return true
	}
	return s.wide && ch >= 0x80
}
