package data

import (
	"bytes"
	"io"
	"strconv"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// row prints one line of the default dump.
func (x *xxd) row(data []byte) {
	if x.auto && x.zeroRun(data) {
		return
	}
	base := 16
	if x.decimal {
		base = 10
	}
	b := appendPadded(x.out[:0], uint64(x.at+x.shift), base, 8)
	b = append(b, ':', ' ')
	start := len(b)
	if x.little {
		b = x.words(b, data)
	} else {
		for i, ch := range data {
			b = x.cell(b, ch)
			if (i+1)%x.group == 0 {
				b = append(b, ' ')
			}
		}
	}
	cell := 2
	if x.bits {
		cell = 8
	}
	for len(b) < start+x.cols*cell+(x.cols+x.group-1)/x.group+1 {
		b = append(b, ' ')
	}
	b = append(append(b, dotted(data)...), '\n')
	x.at += int64(len(data))
	x.out = b
	x.write(b)
}

func (x *xxd) cell(b []byte, ch byte) []byte {
	if !x.bits {
		return append(b, x.digits[ch>>4], x.digits[ch&15])
	}
	for bit := 7; bit >= 0; bit-- {
		b = append(b, '0'+ch>>bit&1)
	}
	return b
}

// words prints groups with their bytes reversed; a short last one is right-aligned.
func (x *xxd) words(b, data []byte) []byte {
	for i := 0; i < len(data); i += x.group {
		for k := x.group - 1; k >= 0; k-- {
			if i+k < len(data) {
				b = x.cell(b, data[i+k])
			} else {
				b = append(b, ' ', ' ')
			}
		}
		b = append(b, ' ')
	}
	return b
}

// zeroRun skips lines of zeros after the first, printing '*' once.
func (x *xxd) zeroRun(data []byte) bool {
	zero := len(data) == x.cols && len(bytes.Trim(data, "\x00")) == 0
	before := x.given["zero"]
	x.given["zero"] = zero
	if !zero || !before {
		x.given["star"], x.held = false, nil
		return false
	}
	if !x.given["star"] {
		x.given["star"] = true
		io.WriteString(x.w, "*\n")
	}
	x.held = append(x.held[:0], data...)
	x.at += int64(len(data))
	return true
}

// lastRow shows the last line even if it was skipped.
func (x *xxd) lastRow() {
	if !x.given["star"] || len(x.held) == 0 {
		return
	}
	x.at -= int64(len(x.held))
	x.auto = false
	x.row(x.held)
}

// revert turns a dump back into bytes.
func (x *xxd) revert(in io.Reader) {
	r, ok := in.(*stream.Reader)
	if !ok {
		r = x.Reader(in)
		defer r.Release()
	}
	written := int64(0)
	half := -1 // the digit that waits for the second one of its byte
	err := cli.EachLine(r, '\n', func(line []byte, _ bool) error {
		if x.plain {
			half = x.revertPlain(line, half)
		} else if at, data, ok := x.parseRow(line); ok {
			written = x.place(at+x.seek, written, data)
		}
		return nil
	})
	cli.Check(err)
}

// place writes data at an address: by seeking in a file, else by filling the
// gap with zeros.
func (x *xxd) place(at, written int64, data []byte) int64 {
	if f, ok := x.w.(*vfs.File); ok {
		_, err := f.Seek(at, io.SeekStart)
		cli.Check(err)
		written = at
	}
	if at < written {
		cli.Check(x.Fail(5, "Sorry, cannot seek backwards."))
	}
	var zeros [4096]byte
	for written < at {
		n := min(int64(len(zeros)), at-written)
		x.write(zeros[:n])
		written += n
	}
	x.write(data)
	return written + int64(len(data))
}

// parseRow reads "address: hex groups  text". The bytes end where two blanks
// or something that is not hexadecimal follows, or where the line is full.
func (x *xxd) parseRow(line []byte) (at int64, data []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return 0, nil, false
	}
	at, err := strconv.ParseInt(string(bytes.TrimSpace(line[:colon])), 16, 64)
	if err != nil || at < 0 {
		return 0, nil, false
	}
	rest := bytes.TrimPrefix(line[colon+1:], []byte{' '})
	step := 2
	if x.bits {
		step = 8
	}
	for len(data) < x.cols {
		if len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
			if len(rest) > 0 && rest[0] == ' ' {
				break
			}
			continue
		}
		if len(rest) < step {
			break
		}
		v, err := strconv.ParseUint(string(rest[:step]), 16/(1+7*cli.BoolInt(x.bits)), 8)
		if err != nil {
			break
		}
		data, rest = append(data, byte(v)), rest[step:]
	}
	return at, data, true
}

// revertPlain decodes hexadecimal digits, with any blanks between them; anything
// else ends the line. half is a digit without its pair, or -1, before and after.
func (x *xxd) revertPlain(line []byte, half int) int {
	b := x.out[:0]
	for _, ch := range line {
		v := cli.HexValue(ch)
		switch {
		case ch == ' ' || ch == '\t' || ch == '\r':
			continue
		case v >= 0 && half < 0:
			half = v
			continue
		case v >= 0:
			b = append(b, byte(half<<4|v))
		}
		half = -1
		if v < 0 {
			break
		}
	}
	x.out = b
	x.write(b)
	return half
}
