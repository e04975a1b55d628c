package text

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Wc = shell.Command{Name: "wc", Run: runWc}

// The columns of wc, in their order.
const (
	wcLines = iota
	wcWords
	wcChars
	wcBytes
	wcLongest
	wcColumns
)

// A tally has the counts of one input.
type tally [wcColumns]int64

// wcOptions selects the columns to show.
type wcOptions struct {
	show  [wcColumns]bool
	width int
}

func runWc(ctx context.Context, c *shell.Call) error {
	var w wcOptions
	var lists []string
	total := "auto"
	names, err := cli.Parse(c, cli.Flags{
		"l": &w.show[wcLines], "w": &w.show[wcWords], "c": &w.show[wcBytes], "m": &w.show[wcChars],
		"L": &w.show[wcLongest], "total": &total, "files0-from": &lists,
	})
	if err != nil {
		return err
	}
	for _, from := range lists {
		if names, err = names0(c, from, names); err != nil {
			return err
		}
	}
	if w == (wcOptions{}) {
		w.show[wcLines], w.show[wcWords], w.show[wcBytes] = true, true, true
	}
	w.width = w.columnWidth(c, names)
	if slices.Contains(lists, "-") || lists != nil && len(names) == 0 {
		w.width = 1 // GNU has no sizes yet when it reads the names from standard input
	}
	if lists != nil && len(names) == 0 { // an empty list is not standard input
		return w.total(c, tally{}, 0, total)
	}
	return w.count(c, names, total)
}

// names0 reads the names of operands, each terminated by a NUL, from a file.
func names0(c *shell.Call, from string, names []string) ([]string, error) {
	if len(names) > 0 {
		c.Warn("extra operand %s", cli.Quote(names[0]))
		io.WriteString(c.Stderr, "file operands cannot be combined with --files0-from\nTry '"+c.Name+
			" --help' for more information.\n")
		return nil, shell.Status(1)
	}
	in, done, err := cli.OpenOperand(c, from)
	if err != nil {
		return nil, c.Fail(1, "cannot open %s for reading: %s", cli.Quote(from), vfs.Reason(err))
	}
	defer done()
	err = cli.EachLine(in.Reader, 0, func(name []byte, _ bool) error {
		names = append(names, string(name))
		return c.Limiter.Fits(int64(len(names)+len(name)) * 16)
	})
	return names, err
}

// columnWidth returns the width of the size of all files together, which bounds every
// count. An input without a known size needs seven columns.
func (w *wcOptions) columnWidth(c *shell.Call, names []string) int {
	if len(names) <= 1 && w.only() >= 0 {
		return 1
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	width, total := 1, int64(0)
	for _, name := range names {
		size, regular, err := wcSize(c, name)
		switch {
		case err != nil:
		case regular:
			total += size
		default:
			width = 7
		}
	}
	return max(width, len(strconv.FormatInt(total, 10)))
}

// wcSize returns the size of an operand that is a regular file, maybe standard input.
func wcSize(c *shell.Call, name string) (size int64, regular bool, err error) {
	if shell.IsStdin(name) {
		f := c.StdinInput().File
		if f == nil {
			return 0, false, nil
		}
		return f.Size(), true, nil
	}
	info, err := c.FS.Stat(c.Path(name))
	return info.Size(), info.Mode().IsRegular(), err
}

// only returns the only column to show, or -1 if there are several.
func (w *wcOptions) only() int {
	first := slices.Index(w.show[:], true)
	if slices.Contains(w.show[first+1:], true) {
		return -1
	}
	return first
}

func (w *wcOptions) count(c *shell.Call, names []string, total string) error {
	var sum tally
	failed := func(name string, err error) {
		c.WarnFile(name, err)
		if err == vfs.ErrIsDir {
			w.print(c, tally{}, name)
		}
	}
	open := c.Open
	if w.only() == wcBytes {
		open = c.OpenBytes
	}
	for in := range cli.Inputs(c, names, open, failed) {
		t, err := w.tally(in)
		if err != nil {
			return err
		}
		for i, n := range t[:wcLongest] {
			sum[i] += n
		}
		sum[wcLongest] = max(sum[wcLongest], t[wcLongest])
		name := in.Name
		if len(names) == 0 {
			name = ""
		}
		if total != "only" {
			w.print(c, t, name)
		}
	}
	return w.total(c, sum, len(names), total)
}

// total prints the line of totals, depending on --total.
func (w *wcOptions) total(c *shell.Call, sum tally, files int, when string) error {
	switch {
	case when == "only":
		w.print(c, sum, "")
	case when == "always" || when != "never" && files > 1:
		w.print(c, sum, "total")
	}
	return c.Stdout.Err()
}

func (w *wcOptions) print(c *shell.Call, t tally, name string) {
	var out []byte
	for i, show := range w.show {
		if !show {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = padNumber(out, int(t[i]), w.width)
	}
	if name != "" {
		out = append(out, ' ')
		out = append(out, strings.ReplaceAll(name, "\n", "'$'\\n''")...)
	}
	c.Stdout.Write(append(out, '\n'))
}

// tally counts one input, only as much as the options need.
func (w *wcOptions) tally(in shell.Input) (t tally, err error) {
	if in.File != nil && w.only() == wcBytes && in.File.Size() > 0 {
		return tally{wcBytes: in.File.Size()}, nil
	}
	var words wordCounter
	for {
		b, err := in.Chunk()
		if err == io.EOF {
			words.endLine()
			t[wcWords], t[wcLongest] = words.words, words.longest
			return t, nil
		}
		if err != nil {
			return t, err
		}
		t[wcBytes] += int64(len(b))
		t[wcLines] += int64(bytes.Count(b, []byte{'\n'}))
		if w.show[wcChars] {
			t[wcChars] += words.chars(b)
		}
		switch {
		case w.show[wcLongest]:
			words.measure(b)
		case w.show[wcWords]:
			words.count(b)
		}
	}
}

// A wordCounter counts words and columns across chunks.
type wordCounter struct {
	words, longest, column int64
	inWord                 bool
	part                   []byte // an incomplete character at the end of the last chunk
	charPart               []byte // the same for chars
}

const (
	plainByte = iota
	spaceByte
	ignoredByte // a control character neither begins nor ends a word
	highByte
)

var byteClass = func() (t [256]byte) {
	for i := range t {
		switch {
		case i == ' ' || i >= '\t' && i <= '\r':
			t[i] = spaceByte
		case i < ' ' || i == 0x7f:
			t[i] = ignoredByte
		case i >= 0x80:
			t[i] = highByte
		}
	}
	return t
}()

func (w *wordCounter) count(b []byte) {
	b = rejoin(&w.part, b)
	words, inWord := w.words, w.inWord
	for i := 0; i < len(b); i++ {
		switch byteClass[b[i]] {
		case plainByte:
			if !inWord {
				words++
				inWord = true
			}
		case spaceByte:
			inWord = false
		case highByte:
			r, size, whole := decodePart(b[i:])
			if !whole {
				w.part = append(w.part[:0], b[i:]...)
				w.words, w.inWord = words, inWord
				return
			}
			if isWordSpace(r) {
				inWord = false
			} else if !inWord && printing(r, size) {
				words++
				inWord = true
			}
			i += size - 1
		}
	}
	w.words, w.inWord = words, inWord
}

// rejoin prepends the incomplete character of the last chunk to the next one.
func rejoin(part *[]byte, b []byte) []byte {
	if len(*part) == 0 {
		return b
	}
	joined := slices.Concat(*part, b)
	*part = (*part)[:0]
	return joined
}

func decodePart(b []byte) (r rune, size int, whole bool) {
	r, size = utf8.DecodeRune(b)
	return r, size, r != utf8.RuneError || size > 1 || utf8.FullRune(b)
}

func isWordSpace(r rune) bool {
	return r >= 0x80 && unicode.IsSpace(r) || r == 0x2060
}

func printing(r rune, size int) bool {
	return !(r == utf8.RuneError && size == 1) && r >= 0xa0
}

// measure is count that also tracks the column on the screen.
func (w *wordCounter) measure(b []byte) {
	b = rejoin(&w.part, b)
	for len(b) > 0 {
		r, size, whole := decodePart(b)
		if !whole {
			w.part = append(w.part[:0], b...)
			return
		}
		w.see(r, size)
		b = b[size:]
	}
}

func (w *wordCounter) see(r rune, size int) {
	switch {
	case r == '\n' || r == '\r' || r == '\f':
		w.endLine()
		w.inWord = false
	case r == '\t':
		w.column += 8 - w.column%8
		w.inWord = false
	case r == ' ':
		w.column++
		w.inWord = false
	case r == '\v' || isWordSpace(r):
		w.column += int64(cli.RuneWidth(r))
		w.inWord = false
	case r < ' ' || r == 0x7f || r == utf8.RuneError && size == 1:
	default:
		w.column += int64(cli.RuneWidth(r))
		if !w.inWord {
			w.words++
			w.inWord = true
		}
	}
}

func (w *wordCounter) endLine() {
	w.longest = max(w.longest, w.column)
	w.column = 0
}

// chars counts characters. Invalid bytes do not count.
func (w *wordCounter) chars(b []byte) int64 {
	b = rejoin(&w.charPart, b)
	var n int64
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size, whole := decodePart(b[i:])
		if !whole {
			w.charPart = append(w.charPart, b[i:]...)
			break
		}
		if r != utf8.RuneError || size > 1 {
			n++
		}
		i += size
	}
	return n
}
