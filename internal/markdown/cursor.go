package markdown

// A cursor reads the beginning of a line. short is set when a byte was needed that has not arrived: then the line is
// parsed again later.
type cursor struct {
	d     []byte
	end   bool // nothing follows d
	short bool // a byte was missing
	i     int
	col   int // column, in which tabs count
	pad   int // columns of the tab before i that are still unused
}

// maxLookahead is how many bytes of a line may be examined to determine its kind.
const maxLookahead = 1024

// peek returns the byte k places ahead, a newline at the end of the text.
func (c *cursor) peek(k int) byte {
	if c.i+k < len(c.d) {
		return c.d[c.i+k]
	}
	c.short = c.short || !c.end
	return '\n'
}

// indent returns the columns of white space ahead, and the byte behind it.
func (c *cursor) indent() (int, byte) {
	n := c.pad
	for k := 0; k < maxLookahead; k++ {
		switch b := c.peek(k); b {
		case ' ':
			n++
		case '\t':
			n += 4 - (c.col+n)%4
		default:
			return n, b
		}
	}
	return n, ' '
}

// skip moves over up to n columns of white space.
func (c *cursor) skip(n int) {
	for n > 0 {
		if c.pad == 0 {
			switch c.peek(0) {
			case ' ':
				c.pad = 1
			case '\t':
				c.pad = 4 - c.col%4
			default:
				return
			}
			c.i++
		}
		used := min(n, c.pad)
		c.pad, c.col, n = c.pad-used, c.col+used, n-used
	}
}

// eat moves over n bytes, which are no white space.
func (c *cursor) eat(n int) {
	c.i += n
	c.col += n
}

// quote moves over the mark of a block quote.
func (c *cursor) quote() {
	c.eat(1)
	c.skip(1)
}

// run returns how often the next byte is repeated.
func (c *cursor) run() int {
	b, n := c.peek(0), 1
	for n < maxLookahead && c.peek(n) == b {
		n++
	}
	return n
}

// onlyBlanks reports whether nothing follows in the line, k bytes ahead.
func (c *cursor) onlyBlanks(k int) bool {
	for ; k < maxLookahead; k++ {
		switch c.peek(k) {
		case '\n':
			return true
		case ' ', '\t':
		default:
			return false
		}
	}
	return false
}

// rule reports whether the line is a horizontal rule.
func (c *cursor) rule() bool {
	b, count := c.peek(0), 0
	if b != '-' && b != '*' && b != '_' {
		return false
	}
	for k := range maxLookahead {
		switch c.peek(k) {
		case b:
			count++
		case ' ', '\t':
		case '\n':
			return count >= 3
		default:
			return false
		}
	}
	return false
}

// marker reads the mark of a list item. It returns its length, zero if there is none, and for an ordered list the
// number.
func (c *cursor) marker() (kind byte, length, number int) {
	for k := 0; k < 9; k++ {
		b := c.peek(k)
		if b < '0' || b > '9' {
			break
		}
		number = number*10 + int(b-'0')
		length++
	}
	kind = c.peek(length)
	ordered := kind == '.' || kind == ')'
	bullet := kind == '-' || kind == '*' || kind == '+'
	if length > 0 && !ordered || length == 0 && !bullet {
		return 0, 0, 0
	}
	length++
	if b := c.peek(length); b != ' ' && b != '\t' && b != '\n' {
		return 0, 0, 0
	}
	return kind, length, number
}

// task reads the box of a task: its mark, or zero.
func (c *cursor) task() byte {
	if c.peek(0) != '[' {
		return 0
	}
	mark := c.peek(1)
	if mark == 'X' {
		mark = 'x'
	}
	if mark != ' ' && mark != 'x' || c.peek(2) != ']' {
		return 0
	}
	if b := c.peek(3); b != ' ' && b != '\t' && b != '\n' {
		return 0
	}
	return mark
}
