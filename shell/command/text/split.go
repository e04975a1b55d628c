package text

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Split = shell.Command{Name: "split", Run: runSplit}

type splitter struct {
	mode      byte // l, b, C, n
	size      int64
	chunks    splitChunks
	digits    string // of the suffixes
	from      int64
	length    int // of the suffixes; 0: as long as needed
	extra     string
	prefix    string
	skipEmpty bool
	verbose   bool
	end       byte
	c         *shell.Call
	made      int64
	file      *vfs.File
	out       *stream.Writer
}

// splitChunks is the value of -n.
type splitChunks struct {
	kind byte // 0 by bytes, l by lines, r in turn
	only int64
	n    int64
}

func runSplit(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-l")
	s := splitter{mode: 'l', size: 1000, digits: "abcdefghijklmnopqrstuvwxyz", prefix: "x", end: '\n', c: c}
	names, err := s.parse()
	if err != nil {
		return err
	}
	name := "-"
	switch len(names) {
	case 0:
	case 1, 2:
		name = names[0]
		s.prefix = append(names, s.prefix)[1]
	default:
		return cli.Misuse(c, "extra operand ‘%s’", names[2])
	}
	in, done, err := cli.OpenWith(c, name, c.OpenBytes)
	switch {
	case err == vfs.ErrIsDir:
		return c.Fail(1, "%s: read error: %s", name, vfs.Reason(err))
	case err != nil:
		return c.Fail(1, "cannot open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
	}
	defer done()
	return report(c, s.run(in))
}

func (s *splitter) parse() (names []string, err error) {
	return cli.Parse(s.c, cli.Flags{
		"l b C": s.setSize, "n": s.setChunks, "e": &s.skipEmpty, "verbose": &s.verbose, "filter": cli.NoPrograms,
		"d numeric-suffixes": func(from string) error { return s.suffixes("0123456789", from) },
		"x hex-suffixes":     func(from string) error { return s.suffixes("0123456789abcdef", from) },
		"a":                  cli.Number(&s.length, 0, 255, "invalid suffix length: ‘%s’"),
		"additional-suffix": func(suffix string) error {
			if strings.Contains(suffix, "/") {
				return cli.Misuse(s.c, "invalid suffix %s, contains directory separator", cli.Quote(suffix))
			}
			s.extra = suffix
			return nil
		},
		"t": func(end string) error {
			if end == `\0` {
				end = "\x00"
			}
			if len(end) != 1 {
				return fmt.Errorf("multi-character separator ‘%s’", end)
			}
			s.end = end[0]
			return nil
		},
	})
}

// setSize is -l, -b and -C.
func (s *splitter) setSize(o cli.Option) (err error) {
	what := "bytes"
	if o.Name == "l" {
		what = "lines"
	}
	s.mode = o.Name[0]
	s.size, err = amount(o.Value, 1, math.MaxInt64, "number of "+what)
	return err
}

// amount reads a number of lines, bytes or chunks.
func amount(text string, low, high int64, what string) (int64, error) {
	n, ok := cli.ParseAmount(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("invalid %s: ‘%s’", what, text)
	case n < low || n > high:
		return 0, fmt.Errorf("invalid %s: ‘%s’: Numerical result out of range", what, text)
	}
	return n, nil
}

// suffixes sets the digits of the suffixes, and the first one unless from is empty.
func (s *splitter) suffixes(digits, from string) (err error) {
	s.digits = digits
	if from == "" {
		return nil
	}
	if s.from, err = strconv.ParseInt(from, len(digits), 32); err != nil || s.from < 0 {
		return fmt.Errorf("%s: invalid start value for numerical suffix", from)
	}
	return nil
}

// setChunks is -n [l/|r/][K/]N.
func (s *splitter) setChunks(text string) (err error) {
	s.mode = 'n'
	if kind, rest, ok := strings.Cut(text, "/"); ok && (kind == "l" || kind == "r") {
		s.chunks.kind, text = kind[0], rest
	}
	only, count, ok := strings.Cut(text, "/")
	if !ok {
		count = only
	}
	if s.chunks.n, err = amount(count, 1, 1<<20, "number of chunks"); err == nil && ok {
		s.chunks.only, err = amount(only, 1, s.chunks.n, "chunk number")
	}
	return err
}

func (s *splitter) run(in shell.Input) (err error) {
	defer func() { err = cmp.Or(err, s.close()) }()
	defer cli.Catch(&err)
	switch s.mode {
	case 'l', 'b':
		s.bySize(in, unit{bytes: s.mode == 'b', end: s.end})
	case 'C':
		s.byLineBytes(in)
	default:
		s.byChunks(in)
	}
	return s.c.Stdout.Err()
}

// name returns the name of piece n. Without -a the suffixes become longer when the last
// first letter is reached, so that the names stay sorted.
func (s *splitter) name(n int64) (string, bool) {
	base, length, lead := int64(len(s.digits)), s.length, ""
	if length == 0 {
		length = max(2, s.neededLength())
		for s.mode != 'n' && s.from == 0 {
			room := pow(base, length) - pow(base, length-1)
			if n < room {
				break
			}
			n -= room
			lead += s.digits[base-1:]
			length++
		}
	}
	n += s.from
	if n >= pow(base, length) {
		return "", false
	}
	return s.prefix + lead + s.number(n, length) + s.extra, true
}

// neededLength returns the length of the suffixes for -n, where the number of pieces is
// known.
func (s *splitter) neededLength() int {
	length := 1
	for s.mode == 'n' && pow(int64(len(s.digits)), length) < s.chunks.n {
		length++
	}
	return length
}

func (s *splitter) number(n int64, length int) string {
	b := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		b[i] = s.digits[n%int64(len(s.digits))]
		n /= int64(len(s.digits))
	}
	return string(b)
}

func pow(base int64, n int) int64 {
	v := int64(1)
	for ; n > 0 && v < 1<<56; n-- {
		v *= base
	}
	return v
}

// begin starts the next piece.
func (s *splitter) begin() {
	cli.Check(s.close())
	name, ok := s.name(s.made)
	if !ok {
		fail(1, "output file suffixes exhausted")
	}
	s.made++
	if s.verbose {
		fmt.Fprintf(s.c.Stdout, "creating file %s\n", cli.Quote(name))
	}
	f, err := s.c.Create(name)
	if err != nil {
		fail(1, "%s: %s", name, vfs.Reason(err))
	}
	s.file, s.out = f, stream.NewWriter(f)
}

func (s *splitter) close() error {
	if s.file == nil {
		return nil
	}
	err := s.out.Flush()
	s.out.Release()
	err = cmp.Or(err, s.file.Close())
	s.file = nil
	return err
}

// bySize makes pieces of so many lines or bytes.
func (s *splitter) bySize(in shell.Input, u unit) {
	left := int64(0)
	for b := chunk(in.Reader); b != nil; b = chunk(in.Reader) {
		for len(b) > 0 {
			if left == 0 {
				left = s.size
				s.begin()
			}
			have, cut := u.count(b), len(b)
			if have >= left {
				have, cut = left, u.after(b, left)
			}
			left -= have
			_, err := s.out.Write(b[:cut])
			cli.Check(err)
			b = b[cut:]
		}
	}
}

// byLineBytes fills pieces with whole lines. A line that is longer than a piece is
// split.
func (s *splitter) byLineBytes(in shell.Input) {
	left := int64(0)
	cli.Check(cli.EachLine(in.Reader, s.end, func(line []byte, ended bool) error {
		size := int64(len(line))
		if ended {
			size++
		}
		for first := true; size > 0; first = false {
			if left == 0 || first && size > left && left < s.size {
				left = s.size
				s.begin()
			}
			n := min(left, size)
			s.out.Write(line[:min(n, int64(len(line)))])
			if n > int64(len(line)) {
				s.out.WriteByte(s.end)
			}
			line = line[min(n, int64(len(line))):]
			left -= n
			size -= n
		}
		return s.out.Err()
	}))
}

// byChunks makes a fixed number of pieces.
func (s *splitter) byChunks(in shell.Input) {
	if s.chunks.kind == 'r' {
		s.inTurn(in)
		return
	}
	memory := cli.Memory{C: s.c}
	defer memory.Release()
	data, err := memory.ReadAll(in)
	cli.Check(err)
	done := int64(0)
	for i := int64(1); i <= s.chunks.n; i++ {
		to := s.chunkEnd(data, i, done)
		s.piece(i, data[done:to])
		done = to
	}
}

// chunkEnd returns where piece i ends: at its share of the bytes, or at the end of the
// line that crosses it.
func (s *splitter) chunkEnd(data []byte, i, done int64) int64 {
	total := int64(len(data))
	to := total / s.chunks.n * i
	switch {
	case i == s.chunks.n:
		return total
	case s.chunks.kind != 'l':
		return to
	case to <= done:
		return done
	}
	return to - 1 + int64(recordEnd(data[to-1:], s.end))
}

func (s *splitter) piece(i int64, part []byte) {
	out := s.c.Stdout
	switch {
	case s.chunks.only > 0 && i != s.chunks.only, s.chunks.only == 0 && len(part) == 0 && s.skipEmpty:
		return
	case s.chunks.only == 0:
		s.begin()
		out = s.out
	}
	_, err := out.Write(part)
	cli.Check(err)
}

// inTurn distributes the lines round robin.
func (s *splitter) inTurn(in shell.Input) {
	var store [][]byte
	n, memory := int64(0), cli.Memory{C: s.c}
	defer memory.Release()
	if s.chunks.only == 0 {
		store = make([][]byte, s.chunks.n)
	}
	cli.Check(cli.EachLine(in.Reader, s.end, func(line []byte, ended bool) error {
		i := n % s.chunks.n
		n++
		if s.chunks.only > 0 {
			if i == s.chunks.only-1 {
				s.c.Stdout.Write(line)
				if ended {
					s.c.Stdout.WriteByte(s.end)
				}
			}
			return s.c.Stdout.Err()
		}
		cli.Check(memory.Hold(int64(2*len(line) + 2)))
		store[i] = append(store[i], line...)
		if ended {
			store[i] = append(store[i], s.end)
		}
		return nil
	}))
	for i, part := range store {
		s.piece(int64(i+1), part)
	}
}
