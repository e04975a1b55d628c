package data

import (
	"io"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// What od, hexdump and xxd share.

// appendPadded appends v in the given base with leading zeros.
func appendPadded(b []byte, v uint64, base, width int) []byte {
	var buf [24]byte
	i := len(buf)
	for v > 0 {
		i--
		buf[i] = cli.LowerHex[v%uint64(base)]
		v /= uint64(base)
	}
	for k := len(buf) - i; k < width; k++ {
		b = append(b, '0')
	}
	return append(b, buf[i:]...)
}

// dotted shows what is not printable as a dot.
func dotted(data []byte) []byte {
	out := make([]byte, len(data))
	for i, ch := range data {
		if ch < ' ' || ch > '~' {
			ch = '.'
		}
		out[i] = ch
	}
	return out
}

// appendCharName appends a character the way od -c shows it.
func appendCharName(b []byte, ch byte) []byte {
	if i := strings.IndexByte("\x00\a\b\t\n\v\f\r", ch); i >= 0 {
		return append(b, '\\', "0abtnvfr"[i])
	}
	if ch < ' ' || ch > '~' {
		return appendPadded(b, uint64(ch), 8, 3)
	}
	return append(b, ch)
}

var controlNames = [...]string{
	"nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si",
	"dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us", "sp",
}

// odNames is the name od -a gives a byte, without regard to its top bit.
func odNames(ch byte) string {
	switch ch &= 0x7f; {
	case int(ch) < len(controlNames):
		return controlNames[ch]
	case ch == 0x7f:
		return "del"
	}
	return string(rune(ch))
}

// float appends a number with the fewest digits that read back the same.
func (d *odDump) float(b []byte, word []byte) []byte {
	bits, v, from, to := 64, 0.0, 15, 17
	if len(word) == 4 {
		bits, from, to = 32, 6, 9
		v = float64(math.Float32frombits(d.order.Uint32(word)))
	} else {
		v = math.Float64frombits(d.order.Uint64(word))
	}
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return append(b, "-nan"...)
	case math.IsNaN(v):
		return append(b, "nan"...)
	case math.IsInf(v, 0):
		return append(b, map[bool]string{true: "-inf", false: "inf"}[v < 0]...)
	}
	for prec := from; ; prec++ {
		s := strconv.FormatFloat(v, 'g', prec, bits)
		if back, _ := strconv.ParseFloat(s, bits); back == v || prec == to {
			return append(b, s...)
		}
	}
}

// A lazyFile opens its file at the first read; one that cannot be opened is
// reported and counts as empty.
type lazyFile struct {
	c      *shell.Call
	name   string
	f      *vfs.File
	done   bool
	failed *int // counts files that could not be opened
}

func (l *lazyFile) Read(p []byte) (int, error) {
	if l.done {
		return 0, io.EOF
	}
	if shell.IsStdin(l.name) {
		return l.c.Stdin.Read(p)
	}
	if l.f == nil {
		f, err := l.c.OpenBytes(l.name)
		if err == nil && f.IsDir() {
			f.Close()
			err = vfs.ErrIsDir
		}
		if err != nil {
			l.done = true
			l.c.WarnFile(l.name, err)
			*l.failed++
			return 0, io.EOF
		}
		l.f = f
	}
	n, err := l.f.Read(p)
	if err != nil {
		l.done = true
		l.f.Close()
	}
	return n, err
}
