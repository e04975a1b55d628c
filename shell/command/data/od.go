package data

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Od = shell.Command{Name: "od", Run: runOd}

// An odType is one output format.
type odType struct {
	kind  byte // a c d o u x f
	size  int  // bytes in a field
	width int  // characters in a field
	text  bool // append the characters
}

type odDump struct {
	*shell.Call
	types     []odType
	radix     byte
	all       bool
	lineBytes int
	order     binary.ByteOrder
	at        int64
	out       []byte
}

// odShort are the old names of types.
var odShort = map[string]string{"a": "a", "b": "o1", "c": "c", "d": "u2", "f": "fF", "i": "dI", "l": "dL", "o": "o2",
	"s": "d2", "x": "x2", "h": "x2"}

func runOd(_ context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	d := &odDump{Call: c, radix: 'o', lineBytes: 16, order: binary.LittleEndian}
	var skip int64
	limit := int64(-1)
	flags := cli.Flags{
		"j": odNumber(&skip), "N": odNumber(&limit), "A": d.setRadix, "t": d.addTypes, "v": &d.all, "w": d.setWidth,
		"endian": func(v string) {
			if v == "big" {
				d.order = binary.BigEndian
			}
		},
	}
	for name, types := range odShort {
		flags[name] = func(string) error { return d.addTypes(types) }
	}
	names, err := cli.Parse(c, flags)
	if err != nil {
		return err
	}
	if len(d.types) == 0 {
		d.addTypes("o2")
	}
	d.fitWidth()
	d.dump(names, skip, limit)
	return c.Stdout.Err()
}

func (d *odDump) setRadix(text string) error {
	if !strings.Contains("doxn", text) || len(text) != 1 {
		return fmt.Errorf("invalid output address radix '%.1s'; it must be one character from [doxn]", text)
	}
	d.radix = text[0]
	return nil
}

func (d *odDump) setWidth(text string) error {
	n := int64(32)
	if text != "" {
		if err := odNumber(&n)(cli.Option{Name: "w", Value: text}); err != nil {
			return err
		}
	}
	d.lineBytes = int(min(n, 1<<16))
	return nil
}

// odNumber returns the binding of a count: decimal, octal or hexadecimal, with b,
// k, m or g.
func odNumber(to *int64) func(cli.Option) error {
	return func(o cli.Option) error {
		digits, unit := o.Value, int64(1)
		if n := len(digits); n > 0 && !strings.HasPrefix(digits, "0x") {
			units := map[byte]int64{'b': 512, 'k': 1 << 10, 'K': 1 << 10, 'm': 1 << 20, 'M': 1 << 20, 'G': 1 << 30}
			if u, ok := units[digits[n-1]]; ok {
				digits, unit = digits[:n-1], u
			}
		}
		v, err := strconv.ParseInt(digits, 0, 64)
		if err != nil || v < 0 || v > (1<<62)/unit {
			return fmt.Errorf("invalid -%s argument '%s'", o.Name, o.Value)
		}
		*to = v * unit
		return nil
	}
}

var odSizes = map[byte]int{'C': 1, 'S': 2, 'I': 4, 'L': 8, 'F': 4, 'D': 8}

// odWidths is how many characters a field of each kind and size takes.
var odWidths = map[byte]map[int]int{
	'd': {1: 4, 2: 6, 4: 11, 8: 20}, 'u': {1: 3, 2: 5, 4: 10, 8: 20},
	'o': {1: 3, 2: 6, 4: 11, 8: 22}, 'x': {1: 2, 2: 4, 4: 8, 8: 16}, 'f': {4: 15, 8: 24},
}

// addTypes reads a type string such as "x1z" or "x1c".
func (d *odDump) addTypes(all string) error {
	for s := all; s != ""; {
		t := odType{kind: s[0], size: 4}
		s = s[1:]
		switch t.kind {
		case 'a', 'c':
			t.size, t.width = 1, 3
		case 'd', 'o', 'u', 'x', 'f':
			if t.kind == 'f' {
				t.size = 8
			}
			digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
			if digits > 0 {
				t.size, _ = strconv.Atoi(s[:digits])
				s = s[digits:]
			} else if s != "" && odSizes[s[0]] > 0 {
				t.size = odSizes[s[0]]
				s = s[1:]
			}
			t.width = odWidths[t.kind][t.size]
			if t.width == 0 {
				return fmt.Errorf("invalid type string ‘%s’;\nthis system doesn't provide a %d-byte %s type", all, t.size,
					map[bool]string{true: "floating point", false: "integral"}[t.kind == 'f'])
			}
		default:
			return fmt.Errorf("invalid character '%c' in type string ‘%s’", t.kind, all)
		}
		if strings.HasPrefix(s, "z") {
			t.text, s = true, s[1:]
		}
		d.types = append(d.types, t)
	}
	return nil
}

// fitWidth makes a line hold whole fields of every type.
func (d *odDump) fitWidth() {
	most := 1
	for _, t := range d.types {
		most = max(most, t.size)
	}
	if d.lineBytes == 0 || d.lineBytes%most != 0 {
		fmt.Fprintf(d.Stderr, "od: warning: invalid width %d; using %d instead\n", d.lineBytes, most)
		d.lineBytes = most
	}
}

func (d *odDump) dump(names []string, skip, limit int64) {
	in, _ := concatBytes(d.Call, names)
	skipped, err := io.CopyN(io.Discard, in, skip)
	if err == io.EOF && skipped < skip {
		if !d.Failed() {
			d.Warn("cannot skip past end of combined input")
		}
		cli.Check(shell.Status(1))
	}
	cli.Check(err)
	d.at = skip
	if limit >= 0 {
		in = io.LimitReader(in, limit)
	}
	eachRow(in, d.lineBytes, d.all, d.row, d.Stdout)
	if d.radix != 'n' && (d.at != skip || !d.Failed()) {
		d.Stdout.Write(append(d.address(d.out[:0]), '\n'))
	}
}

func (d *odDump) address(b []byte) []byte {
	if d.radix == 'n' {
		return b
	}
	base := map[byte]int{'d': 10, 'x': 16, 'o': 8}[d.radix]
	return appendPadded(b, uint64(d.at), base, 7-cli.BoolInt(d.radix == 'x'))
}

// row prints one line once for each type; skip only advances.
func (d *odDump) row(data []byte, skip bool) {
	if skip {
		d.at += int64(len(data))
		return
	}
	full := 0
	for _, t := range d.types {
		full = max(full, (t.width+1)*(d.lineBytes/t.size))
	}
	b := d.out[:0]
	for i, t := range d.types {
		start := len(b)
		b = d.address(b)
		if i > 0 {
			for k := start; k < len(b); k++ {
				b[k] = ' '
			}
		}
		b = d.fields(b, t, data, full)
		b = append(b, '\n')
	}
	d.at += int64(len(data))
	d.out = b
	_, err := d.Stdout.Write(b)
	cli.Check(err)
}

// fields prints the fields of one type, spread over the width that the widest
// type needs, so that columns are aligned.
func (d *odDump) fields(b []byte, t odType, data []byte, full int) []byte {
	n := d.lineBytes / t.size
	pad := full - t.width*n
	left := pad
	for i := range n {
		next := pad * (n - 1 - i) / n
		width := left - next + t.width
		left = next
		if i*t.size >= len(data) {
			if t.text {
				b = append(b, strings.Repeat(" ", width)...)
			}
			continue
		}
		var word [8]byte
		copy(word[:t.size], data[i*t.size:])
		b = d.field(b, t, word[:t.size], width)
	}
	if t.text {
		b = append(append(append(b, "  >"...), dotted(data)...), '<')
	}
	return b
}

func (d *odDump) field(b []byte, t odType, word []byte, width int) []byte {
	var buf [40]byte
	s := buf[:0]
	switch t.kind {
	case 'c':
		s = appendCharName(s, word[0])
	case 'a':
		s = append(s, odNames(word[0])...)
	case 'f':
		s = d.float(s, word)
	default:
		s = appendNumber(s, t, d.word(word))
	}
	for k := len(s); k < width; k++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

func (d *odDump) word(w []byte) uint64 {
	switch len(w) {
	case 1:
		return uint64(w[0])
	case 2:
		return uint64(d.order.Uint16(w))
	case 4:
		return uint64(d.order.Uint32(w))
	}
	return d.order.Uint64(w)
}

func appendNumber(s []byte, t odType, v uint64) []byte {
	switch t.kind {
	case 'd':
		shift := 64 - 8*t.size
		return strconv.AppendInt(s, int64(v<<shift)>>shift, 10)
	case 'o':
		return appendPadded(s, v, 8, t.width)
	case 'x':
		return appendPadded(s, v, 16, t.width)
	}
	return strconv.AppendUint(s, v, 10)
}

// concatBytes reads the operands one after the other. failed counts those that
// could not be opened.
func concatBytes(c *shell.Call, names []string) (r io.Reader, failed *int) {
	failed = new(int)
	if len(names) == 0 {
		return c.Stdin, failed
	}
	var files []io.Reader
	for _, name := range names {
		files = append(files, &lazyFile{c: c, name: name, failed: failed})
	}
	return io.MultiReader(files...), failed
}

// eachRow cuts a stream into rows of n bytes. A row equal to the one before is
// passed with skip, and a star is written for the first of a run; the last row is
// always shown. With all, nothing is skipped.
func eachRow(src io.Reader, n int, all bool, row func(data []byte, skip bool), stars io.Writer) {
	buf, prev := make([]byte, n), make([]byte, 0, n)
	starred := false
	for {
		m, err := io.ReadFull(src, buf)
		if m > 0 {
			same := !all && m == n && bytes.Equal(prev, buf)
			if same && !starred {
				io.WriteString(stars, "*\n")
			}
			starred = same
			row(buf[:m], same)
			prev = append(prev[:0], buf[:m]...)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return
		}
		cli.Check(err)
	}
}
