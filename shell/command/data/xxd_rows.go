package data

import (
	"bytes"
	"io"
	"strconv"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// row prints one line of the usual dump.
func (x *xxd) row(data []byte) error {
	if x.auto && x.zeroRun(data) {
		return nil
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
	_, err := x.w.Write(b)
	return err
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

// words prints groups with their bytes reversed; a short last one is set right.
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

// zeroRun swallows lines of zeros after the first, printing '*' once.
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

// lastRow shows the last line even if it was swallowed.
func (x *xxd) lastRow() error {
	if !x.given["star"] || len(x.held) == 0 {
		return nil
	}
	x.at -= int64(len(x.held))
	x.auto = false
	return x.row(x.held)
}

// revert turns a dump back into bytes.
func (x *xxd) revert(in io.Reader) error {
	r, ok := in.(*stream.Reader)
	if !ok {
		r = x.Reader(in)
		defer r.Release()
	}
	if x.plain {
		return x.revertPlain(r)
	}
	written := int64(0)
	for {
		line, err := r.Line()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at, data, ok := x.parseRow(line)
		if !ok {
			continue
		}
		if written, err = x.place(at+x.seek, written, data); err != nil {
			return err
		}
	}
}

// place writes data at an address: by seeking in a file, else by filling the
// gap with zeros.
func (x *xxd) place(at, written int64, data []byte) (int64, error) {
	if f, ok := x.w.(*vfs.File); ok {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return 0, err
		}
		written = at
	}
	if at < written {
		return 0, x.Fail(5, "Sorry, cannot seek backwards.")
	}
	var zeros [4096]byte
	for written < at {
		n, err := x.w.Write(zeros[:min(int64(len(zeros)), at-written)])
		if err != nil {
			return 0, err
		}
		written += int64(n)
	}
	_, err := x.w.Write(data)
	return written + int64(len(data)), err
}

// parseRow reads "address: hex groups  text". The bytes end where two blanks
// or something that is no hexadecimal follows, or where the line is full.
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

// revertPlain joins hexadecimal digits, whatever blanks stand between them;
// anything else ends the line.
func (x *xxd) revertPlain(r *stream.Reader) error {
	half := -1
	for {
		line, err := r.Line()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b := x.out[:0]
		for _, ch := range line {
			v := cli.HexValue(ch)
			if v < 0 {
				if ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r' {
					continue
				}
				half = -1
				break
			}
			if half < 0 {
				half = v
				continue
			}
			b = append(b, byte(half<<4|v))
			half = -1
		}
		x.out = b
		if _, err := x.w.Write(b); err != nil {
			return err
		}
	}
}
