package markdown

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Clean returns s fit for a terminal that renders no markdown: valid UTF-8
// without control characters other than newline and tab. ESC and its kin become
// visible symbols (␛), a carriage return before a newline and the controls that
// reorder text are dropped.
func Clean(s string) string {
	if harmless(s) {
		return s
	}
	var c cleaner
	dst := c.append(make([]byte, 0, len(s)+8), []byte(s))
	return string(c.finish(dst))
}

// harmless reports whether s is printable ASCII, the common case.
func harmless(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' }) < 0
}

// A Cleaner is Clean for text that arrives in pieces cut anywhere.
type Cleaner struct {
	w     io.Writer
	clean cleaner
	buf   []byte
}

// CleanWriter passes on what is written to it as Clean would. Only half a
// character, or a carriage return that may belong to a line end, waits for the
// next piece or for Close.
func CleanWriter(w io.Writer) *Cleaner { return &Cleaner{w: w} }

// Write passes p on, cleaned.
func (c *Cleaner) Write(p []byte) (int, error) {
	c.buf = c.clean.append(c.buf[:0], p)
	if len(c.buf) == 0 {
		return len(p), nil
	}
	if _, err := c.w.Write(c.buf); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was held back. It does not close the writer below.
func (c *Cleaner) Close() error {
	c.buf = c.clean.finish(c.buf[:0])
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.w.Write(c.buf)
	return err
}

// A cleaner turns any bytes into text a terminal takes for text. It stands
// before the parser, so that nothing behind it can meet a raw control character.
type cleaner struct {
	half []byte // the beginning of a character
	cr   bool   // a carriage return whose successor is not known
}

func (c *cleaner) append(dst, p []byte) []byte {
	for len(c.half) > 0 && len(p) > 0 {
		c.half, p = append(c.half, p[0]), p[1:]
		if utf8.FullRune(c.half) {
			whole := c.half
			c.half = nil
			dst = c.scan(dst, whole)
		}
	}
	return c.scan(dst, p)
}

// finish returns what was waiting for more.
func (c *cleaner) finish(dst []byte) []byte {
	for range c.half {
		dst = utf8.AppendRune(c.lone(dst), utf8.RuneError)
	}
	c.half = nil
	return c.lone(dst)
}

// lone shows a carriage return that no newline followed: it would let later
// text overwrite the line.
func (c *cleaner) lone(dst []byte) []byte {
	if c.cr {
		c.cr = false
		return append(dst, "␍"...)
	}
	return dst
}

func (c *cleaner) scan(dst, p []byte) []byte {
	for len(p) > 0 {
		n := 0
		for n < len(p) && (p[n] >= ' ' && p[n] < 0x7f || p[n] == '\n' || p[n] == '\t') {
			n++
		}
		if n > 0 {
			if p[0] == '\n' {
				c.cr = false
			}
			dst, p = append(c.lone(dst), p[:n]...), p[n:]
			continue
		}
		if !utf8.FullRune(p) {
			c.half = append([]byte(nil), p...)
			return dst
		}
		r, size := utf8.DecodeRune(p)
		dst, p = c.rune(dst, r), p[size:]
	}
	return dst
}

func (c *cleaner) rune(dst []byte, r rune) []byte {
	dst = c.lone(dst)
	if r == '\r' {
		c.cr = true
		return dst
	}
	return appendVisible(dst, r)
}

// appendVisible appends r, or what stands for it if a terminal would obey it.
func appendVisible(dst []byte, r rune) []byte {
	switch {
	case r == '\n' || r == '\t':
	case r < ' ':
		r += '␀'
	case r == 0x7f:
		r = '␡'
	case r >= 0x80 && r < 0xa0: // C1: U+009B is CSI to many terminals
		r = utf8.RuneError
	case r == 0x2028 || r == 0x2029: // some terminals start a new line here
		r = ' '
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return dst // reorders what follows, so that a reader sees another command
	}
	return utf8.AppendRune(dst, r)
}
