package data

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"io"
	"math"
	"slices"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Base64 = shell.Command{Name: "base64", Run: func(ctx context.Context, c *shell.Call) error {
	return runBase(c, baseCodec{base64.StdEncoding, 3, 4})
}}

var Base32 = shell.Command{Name: "base32", Run: func(ctx context.Context, c *shell.Call) error {
	return runBase(c, baseCodec{base32.StdEncoding, 5, 8})
}}

// A baseCodec turns groups of raw bytes into groups of letters and back.
type baseCodec struct {
	baseEncoding
	raw, text int // bytes in a group
}

type baseEncoding interface {
	Encode(dst, src []byte)
	EncodedLen(n int) int
	Decode(dst, src []byte) (int, error)
	DecodedLen(n int) int
}

func runBase(c *shell.Call, codec baseCodec) (err error) {
	defer cli.Catch(&err)
	decode, lax, cols := false, false, 76
	names, err := cli.Parse(c, cli.Flags{
		"d": &decode, "i": &lax, "w": cli.Number(&cols, 0, math.MaxInt, "invalid wrap size: ‘%s’"),
	})
	if err != nil {
		return err
	}
	if len(names) > 1 {
		return cli.Misuse(c, "extra operand ‘%s’", names[1])
	}
	for in := range c.InputsBytes(names) {
		if decode {
			codec.decode(c, in, lax)
		} else {
			codec.encode(c.Stdout, in, cols)
		}
	}
	return nil
}

// encode writes lines of cols letters.
func (b baseCodec) encode(w io.Writer, in io.Reader, cols int) {
	wrap := &lineWrapper{w: w, cols: cols}
	raw := make([]byte, b.raw<<12)
	text := make([]byte, b.EncodedLen(len(raw)))
	for {
		n, err := io.ReadFull(in, raw)
		b.Encode(text, raw[:n])
		wrap.write(text[:b.EncodedLen(n)])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			wrap.end()
			return
		}
		cli.Check(err)
	}
}

// A lineWrapper breaks a stream of letters into lines.
type lineWrapper struct {
	w    io.Writer
	cols int // 0 never breaks
	at   int
	buf  []byte
}

func (l *lineWrapper) write(p []byte) {
	if l.cols == 0 {
		_, err := l.w.Write(p)
		cli.Check(err)
		return
	}
	l.buf = l.buf[:0]
	for len(p) > 0 {
		n := min(len(p), l.cols-l.at)
		l.buf = append(l.buf, p[:n]...)
		p = p[n:]
		if l.at += n; l.at == l.cols {
			l.buf = append(l.buf, '\n')
			l.at = 0
		}
	}
	_, err := l.w.Write(l.buf)
	cli.Check(err)
}

func (l *lineWrapper) end() {
	if l.at > 0 {
		_, err := l.w.Write([]byte{'\n'})
		cli.Check(err)
	}
}

// decode reads groups until one of them is wrong; the data before it is
// printed, as GNU does.
func (b baseCodec) decode(c *shell.Call, in shell.Input, lax bool) {
	var group, out []byte
	for {
		chunk, err := in.Chunk()
		cli.Check(cli.NotEOF(err))
		group = b.letters(group, chunk, lax)
		whole := len(group) - len(group)%b.text
		if err == io.EOF {
			whole = len(group)
		}
		var ok bool
		out, ok = b.groups(out[:0], group[:whole])
		_, werr := c.Stdout.Write(out)
		cli.Check(werr)
		if !ok {
			c.Stdout.Flush()
			cli.Check(c.Fail(1, "invalid input"))
		}
		if err == io.EOF {
			return
		}
		group = append(group[:0], group[whole:]...)
	}
}

// letters appends the bytes of chunk that count.
func (b baseCodec) letters(group, chunk []byte, lax bool) []byte {
	for _, ch := range chunk {
		if ch == '\n' || lax && !b.letter(ch) {
			continue
		}
		group = append(group, ch)
	}
	return group
}

func (b baseCodec) letter(ch byte) bool {
	switch {
	case ch >= 'A' && ch <= 'Z', ch == '=':
		return true
	case b.text == 8:
		return ch >= '2' && ch <= '7'
	}
	return ch >= 'a' && ch <= 'z' || ch >= '0' && ch <= '9' || ch == '+' || ch == '/'
}

// groups decodes whole groups into out: all at once if they are valid, else
// one by one, since concatenated outputs have padding inside.
func (b baseCodec) groups(out, text []byte) ([]byte, bool) {
	start := len(out)
	out = append(out, make([]byte, b.DecodedLen(len(text)))...)
	if len(text)%b.text == 0 {
		if n, err := b.Decode(out[start:], text); err == nil {
			return out[:start+n], true
		}
	}
	out = out[:start]
	part := make([]byte, b.raw)
	for len(text) > 0 {
		n := min(b.text, len(text))
		m, err := b.Decode(part, text[:n])
		if err != nil {
			if b.text == 4 { // base32 of GNU prints nothing of a broken group
				out = append(out, b.salvage(text[:n])...)
			}
			return out, false
		}
		out = append(out, part[:m]...)
		text = text[n:]
	}
	return out, true
}

// salvage decodes the valid part of a broken last group.
func (b baseCodec) salvage(text []byte) []byte {
	n := 0
	for n < len(text) && text[n] != '=' && b.letter(text[n]) {
		n++
	}
	full := append(slices.Clone(text[:n]), bytes.Repeat([]byte("A"), b.text-n)...)
	part := make([]byte, b.raw)
	b.Decode(part, full)
	return part[:n*b.raw/b.text]
}
