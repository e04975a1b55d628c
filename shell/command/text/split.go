package text

import (
	"bytes"
	"context"
	"fmt"
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

// splitChunks is what -n asks for.
type splitChunks struct {
	kind byte // 0 by bytes, l by lines, r in turn
	only int64
	n    int64
}

func runSplit(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-l")
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	s := splitter{mode: 'l', size: 1000, digits: "abcdefghijklmnopqrstuvwxyz", prefix: "x", end: '\n', c: c}
	for _, o := range opts {
		if err := s.set(o); err != nil {
			return err
		}
	}
	name := "-"
	switch {
	case len(names) > 2:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[2]))
	case len(names) == 2:
		s.prefix = names[1]
		fallthrough
	case len(names) == 1:
		name = names[0]
	}
	in := shell.Input{Reader: c.Stdin, Name: "-"}
	if !shell.IsStdin(name) {
		f, err := cli.OpenPlain(name, c.OpenBytes)
		if err == vfs.ErrIsDir {
			return c.Fail(1, "%s: read error: %s", name, vfs.Reason(err))
		}
		if err != nil {
			return c.Fail(1, "cannot open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
		}
		defer f.Close()
		in = shell.Input{Reader: c.Reader(f), Name: name, File: f}
		defer in.Release()
	}
	err = s.run(in)
	if e := s.close(); err == nil {
		err = e
	}
	return err
}

func (s *splitter) set(o cli.Option) error {
	switch o.Name {
	case "l", "b", "C":
		n, ok := cli.ParseAmount(o.Value)
		if !ok || n == 0 {
			what := map[string]string{"l": "lines", "b": "bytes", "C": "bytes"}[o.Name]
			return s.c.Fail(1, "invalid number of %s: %s%s", what, cli.QuoteCurly(o.Value), rangeWords(ok))
		}
		s.mode, s.size = o.Name[0], n
	case "n":
		s.mode = 'n'
		return s.setChunks(o.Value)
	case "d", "numeric-suffixes":
		return s.suffixes("0123456789", o.Value)
	case "x", "hex-suffixes":
		return s.suffixes("0123456789abcdef", o.Value)
	case "a":
		n, err := strconv.ParseUint(o.Value, 10, 8)
		if err != nil {
			return s.c.Fail(1, "invalid suffix length: %s", cli.QuoteCurly(o.Value))
		}
		s.length = int(n)
	case "additional-suffix":
		if strings.Contains(o.Value, "/") {
			return cli.Misuse(s.c, "invalid suffix %s, contains directory separator", cli.Quote(o.Value))
		}
		s.extra = o.Value
	case "e":
		s.skipEmpty = true
	case "verbose":
		s.verbose = true
	case "t":
		if o.Value == `\0` {
			o.Value = "\x00"
		}
		if len(o.Value) != 1 {
			return s.c.Fail(1, "multi-character separator %s", cli.QuoteCurly(o.Value))
		}
		s.end = o.Value[0]
	case "filter":
		return s.c.Fail(1, "no program can be run from here: %s", o.Value)
	}
	return nil
}

func (s *splitter) suffixes(digits, from string) error {
	s.digits = digits
	if from == "" {
		return nil
	}
	n, err := strconv.ParseInt(from, len(digits), 32)
	if err != nil || n < 0 {
		return s.c.Fail(1, "%s: invalid start value for numerical suffix", from)
	}
	s.from = n
	return nil
}

func (s *splitter) setChunks(text string) error {
	rest := text
	if k, after, ok := strings.Cut(rest, "/"); ok && (k == "l" || k == "r") {
		s.chunks.kind, rest = k[0], after
	}
	only, count, ok := strings.Cut(rest, "/")
	if !ok {
		only, count = "0", rest
	}
	n, ok := cli.ParseAmount(count)
	k, ok2 := cli.ParseAmount(only)
	switch {
	case !ok || n == 0 || n > 1<<20:
		return s.c.Fail(1, "invalid number of chunks: %s%s", cli.QuoteCurly(count), rangeWords(ok))
	case !ok2 || k > n || strings.Contains(rest, "/") && k == 0:
		return s.c.Fail(1, "invalid chunk number: %s%s", cli.QuoteCurly(only), rangeWords(ok2))
	}
	s.chunks.n, s.chunks.only = n, k
	return nil
}

func (s *splitter) run(in shell.Input) error {
	switch s.mode {
	case 'l':
		return s.byLines(in)
	case 'b':
		return s.byBytes(in, s.size)
	case 'C':
		return s.byLineBytes(in)
	}
	return s.byChunks(in)
}

// name spells the suffix of piece n. Without -a the suffixes grow when the
// last first letter is reached, so that names stay in order.
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

// neededLength is what -n, which knows the number of pieces, must have.
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
func (s *splitter) begin() error {
	if err := s.close(); err != nil {
		return err
	}
	name, ok := s.name(s.made)
	if !ok {
		return s.c.Fail(1, "output file suffixes exhausted")
	}
	s.made++
	if s.verbose {
		fmt.Fprintf(s.c.Stdout, "creating file %s\n", cli.Quote(name))
	}
	f, err := s.c.Create(name)
	if err != nil {
		return s.c.Fail(1, "%s: %s", name, vfs.Reason(err))
	}
	s.file, s.out = f, stream.NewWriter(f)
	return nil
}

func (s *splitter) close() error {
	if s.file == nil {
		return nil
	}
	err := s.out.Flush()
	s.out.Release()
	if e := s.file.Close(); err == nil {
		err = e
	}
	s.file = nil
	return err
}

func (s *splitter) byLines(in shell.Input) error {
	left := int64(0)
	return s.chunked(in, func(b []byte) (int, error) {
		if left == 0 {
			left = s.size
			if err := s.begin(); err != nil {
				return 0, err
			}
		}
		have := int64(bytes.Count(b, []byte{s.end}))
		cut := len(b)
		if have >= left {
			cut, have = afterLines(b, s.end, left), left
		}
		left -= have
		return cut, nil
	})
}

func (s *splitter) byBytes(in shell.Input, size int64) error {
	left := int64(0)
	return s.chunked(in, func(b []byte) (int, error) {
		if left == 0 {
			left = size
			if err := s.begin(); err != nil {
				return 0, err
			}
		}
		cut := min(left, int64(len(b)))
		left -= cut
		return int(cut), nil
	})
}

// chunked writes the input in the parts that next cuts off.
func (s *splitter) chunked(in shell.Input, next func(b []byte) (int, error)) error {
	for {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		for len(b) > 0 {
			n, err := next(b)
			if err != nil {
				return err
			}
			if _, err := s.out.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
}

// byLineBytes fills pieces with whole lines; a line that is longer than a
// piece is split.
func (s *splitter) byLineBytes(in shell.Input) error {
	left := int64(0)
	return cli.EachLine(in.Reader, s.end, func(line []byte, ended bool) error {
		size := int64(len(line))
		if ended {
			size++
		}
		for first := true; size > 0; first = false {
			if left == 0 || first && size > left && left < s.size {
				left = s.size
				if err := s.begin(); err != nil {
					return err
				}
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
	})
}

// byChunks makes a fixed number of pieces.
func (s *splitter) byChunks(in shell.Input) error {
	if s.chunks.kind == 'r' {
		return s.inTurn(in)
	}
	data, err := cli.ReadAll(s.c, in)
	defer func() { s.c.Limiter.Hold(-int64(cap(data))) }()
	if err != nil {
		return err
	}
	total, done := int64(len(data)), int64(0)
	for i := int64(1); i <= s.chunks.n; i++ {
		to := s.chunkEnd(data, total, i, done)
		part := data[done:to]
		done = to
		if err := s.piece(i, part); err != nil {
			return err
		}
	}
	return nil
}

// chunkEnd is where piece i ends: at its share of the bytes, or with the line
// that reaches beyond it.
func (s *splitter) chunkEnd(data []byte, total, i, done int64) int64 {
	to := total / s.chunks.n * i
	if i == s.chunks.n {
		return total
	}
	if s.chunks.kind != 'l' {
		return to
	}
	if to <= done {
		return done
	}
	if j := bytes.IndexByte(data[to-1:], s.end); j >= 0 {
		return to + int64(j)
	}
	return total
}

func (s *splitter) piece(i int64, part []byte) error {
	switch {
	case s.chunks.only > 0:
		if i == s.chunks.only {
			s.c.Stdout.Write(part)
		}
		return s.c.Stdout.Err()
	case len(part) == 0 && s.skipEmpty:
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	_, err := s.out.Write(part)
	return err
}

// inTurn deals the lines out like cards.
func (s *splitter) inTurn(in shell.Input) error {
	var store [][]byte
	n, held := int64(0), int64(0)
	defer func() { s.c.Limiter.Hold(-held) }()
	if s.chunks.only == 0 {
		store = make([][]byte, s.chunks.n)
	}
	err := cli.EachLine(in.Reader, s.end, func(line []byte, ended bool) error {
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
		held += int64(2*len(line) + 2)
		if err := s.c.Limiter.Hold(int64(2*len(line) + 2)); err != nil {
			return err
		}
		store[i] = append(store[i], line...)
		if ended {
			store[i] = append(store[i], s.end)
		}
		return nil
	})
	for i, part := range store {
		if err == nil {
			err = s.piece(int64(i+1), part)
		}
	}
	return err
}
