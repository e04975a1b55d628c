package text

import (
	"context"
	"io"
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
	for i, a := range c.Args { // -8 is short for -n 8
		if len(a) > 1 && a[0] == '-' && a[1] >= '0' && a[1] <= '9' {
			c.Args = append(append([]string{}, c.Args...), "")[:len(c.Args)]
			c.Args[i] = "-n" + a[1:]
		}
	}
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	for _, o := range opts {
		if err := s.set(o); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return s.scan("{standard input}", c.Stdin)
	}
	for _, name := range names {
		f, err := c.OpenBytes(name)
		if err != nil {
			why := vfs.Reason(err)
			if why == "No such file or directory" {
				c.Warn("'%s': No such file", name)
			} else {
				c.Warn("%s: %s", name, why)
			}
			continue
		}
		if f.IsDir() {
			c.Warn("Warning: '%s' is a directory", name)
		} else {
			err = s.scan(name, f)
		}
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stringsScan) set(o cli.Option) error {
	switch o.Name {
	case "n":
		n, err := strconv.Atoi(o.Value)
		if err != nil || n < 1 {
			return s.Fail(1, "invalid minimum string length %s", o.Value)
		}
		s.least = n
	case "t", "o":
		s.radix = map[string]int{"": 8, "o": 8, "d": 10, "x": 16}[o.Value]
		if s.radix == 0 {
			return shell.ErrUsage
		}
	case "f":
		s.names = true
	case "w":
		s.white = true
	case "e":
		if o.Value != "s" && o.Value != "S" {
			return s.Fail(1, "only the encodings s and S are available here")
		}
		s.wide = o.Value == "S"
	}
	return nil
}

// scan prints every run. A run is kept only until it is long enough to count;
// from then on it is printed as it comes.
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
		text := strconv.FormatInt(at, s.radix)
		for n := len(text); n < 7; n++ {
			s.Stdout.WriteByte(' ')
		}
		s.Stdout.WriteString(text + " ")
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
