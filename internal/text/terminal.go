package text

import "unicode/utf8"

// ForTerminal returns s for a terminal: [Visible] text with pictures (␛) for control characters. A carriage return
// before a newline is dropped.
func ForTerminal(s string) string {
	if printableASCII(s) {
		return s
	}
	var c TerminalFilter
	return string(c.Flush(c.Append(make([]byte, 0, len(s)+8), []byte(s))))
}

// A TerminalFilter is ForTerminal for text that arrives in pieces. The zero value is ready for use.
type TerminalFilter struct {
	filter
	half []byte // an incomplete character
	cr   bool   // a pending carriage return
}

// Append appends the filtered p to dst. An incomplete character, or a carriage return at the end, waits for the next
// piece or Flush.
func (c *TerminalFilter) Append(dst, p []byte) []byte {
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

// Flush appends what is pending.
func (c *TerminalFilter) Flush(dst []byte) []byte {
	for range c.half {
		dst = utf8.AppendRune(c.lone(dst), utf8.RuneError)
	}
	c.half = nil
	return c.lone(dst)
}

// lone appends a picture for a carriage return without a newline, which would let later text overwrite the line.
func (c *TerminalFilter) lone(dst []byte) []byte {
	if c.cr {
		c.cr = false
		return append(dst, "␍"...)
	}
	return dst
}

func (c *TerminalFilter) scan(dst, p []byte) []byte {
	for len(p) > 0 {
		n := 0
		for n < len(p) && (p[n] >= ' ' && p[n] < 0x7f || p[n] == '\n' || p[n] == '\t') {
			n++
		}
		if n > 0 {
			if p[0] == '\n' {
				c.cr = false
			}
			c.before = rune(p[n-1])
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

func (c *TerminalFilter) rune(dst []byte, r rune) []byte {
	dst = c.lone(dst)
	if r == '\r' {
		c.cr = true
		return dst
	}
	switch {
	case r == '\n' || r == '\t':
	case r == 0xa0 || r == '\ufe0f' && keycap(c.before):
	case r >= 0x80 && r < 0xa0: // C1: U+009B is CSI to many terminals
		r = utf8.RuneError
	default:
		r = c.visible(picture(r))
	}
	if r < 0 {
		return dst
	}
	c.before = r
	return utf8.AppendRune(dst, r)
}

// keycap reports whether a variation selector makes an emoji of r, although it is ASCII: 1️⃣.
func keycap(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }
