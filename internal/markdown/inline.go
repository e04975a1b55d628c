package markdown

import "bytes"

// An inline parses the text of one paragraph, heading or cell. What is unambiguous goes to the flow at once; what
// follows an opening marker is held as nodes until the marker is closed or turns out to be plain text.
//
// step depends only on the bytes that it consumes and reports when it needs more: so the result does not depend on how
// the input is cut.
type inline struct {
	flow    *flow
	base    attr
	buf     []byte // read but not understood yet
	prev    rune   // before buf
	blanks  int    // at the end of what was understood
	nodes   []node // held
	held    []byte // the text of the nodes
	heading bool
}

// maxHeld is how many bytes an opening marker may hold back, and how long a code span may be. What is longer is shown
// as it was written.
const maxHeld = 512

func (in *inline) reset(base attr, heading bool) {
	in.buf, in.nodes, in.held = in.buf[:0], in.nodes[:0], in.held[:0]
	in.base, in.heading, in.prev, in.blanks = base, heading, '\n', 0
}

func (in *inline) write(p []byte) {
	if len(in.buf) == 0 {
		n := in.run(p, false)
		in.buf = append(in.buf, p[n:]...)
		return
	}
	in.buf = append(in.buf, p...)
	n := in.run(in.buf, false)
	in.buf = in.buf[:copy(in.buf, in.buf[n:])]
}

// finish parses and renders what is held back.
func (in *inline) finish() {
	in.run(in.buf, true)
	in.buf = in.buf[:0]
	for in.giveUp() {
	}
	in.flow.endUnit()
}

// run parses as much of d as it can and returns its length. At the end of the text it is all.
func (in *inline) run(d []byte, end bool) int {
	i := 0
	for i < len(d) {
		n := in.step(d[i:], end)
		if n == 0 {
			break
		}
		in.note(d[i : i+n])
		i += n
	}
	return i
}

// note keeps what the next step needs to know of s.
func (in *inline) note(s []byte) {
	in.prev = lastRune(s)
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	if n > 0 {
		in.blanks = 0
	}
	in.blanks += len(s) - n
}

// special marks the bytes that may have a meaning.
var special = [256]bool{'\n': true, '\\': true, '`': true, '*': true, '_': true, '~': true, '[': true, ']': true,
	'!': true, '<': true, '&': true, '#': true, 'h': true}

// step understands the beginning of d and returns its length; zero if it depends
// on what comes, which is never so when end is set.
func (in *inline) step(d []byte, end bool) int {
	if n := plain(d); n > 0 {
		return in.literal(d[:n])
	}
	switch d[0] {
	case '\n':
		return in.lineEnd()
	case '\\':
		return in.escape(d, end)
	case '`':
		return in.codeSpan(d, end)
	case '*', '_', '~':
		return in.delimiter(d, end)
	case '&':
		return in.entity(d, end)
	case '#':
		return in.closing(d, end)
	case 'h':
		return in.bare(d, end)
	}
	return in.bracket(d, end)
}

// plain returns the length of the plain text at the beginning of d. The h at the beginning of a word may begin a URL.
func plain(d []byte) int {
	n := 0
	for n < len(d) && (!special[d[n]] || d[n] == 'h' && n > 0 && isAlnum(rune(d[n-1]))) {
		n++
	}
	return n
}

func (in *inline) bracket(d []byte, end bool) int {
	switch d[0] {
	case '[':
		return in.open(d[:1])
	case '!':
		return in.image(d, end)
	case ']':
		return in.close(d, end)
	}
	return in.autolink(d, end)
}

// literal renders s as plain text.
func (in *inline) literal(s []byte) int {
	in.text(s, noAttr, nowhere)
	return len(s)
}

func (in *inline) text(s []byte, a attr, url target) {
	if len(in.nodes) == 0 {
		in.flow.text(s, style{in.base | a, url})
		return
	}
	in.hold(node{kind: textNode, attr: a, url: url}, s)
}

func (in *inline) lineEnd() int {
	kind := softNode
	if in.blanks >= 2 {
		kind = hardNode
	}
	in.breakLine(kind)
	return 1
}

func (in *inline) breakLine(kind nodeKind) {
	if len(in.nodes) > 0 {
		in.hold(node{kind: kind}, nil)
		return
	}
	in.show(&node{kind: kind})
}

func (in *inline) escape(d []byte, end bool) int {
	switch {
	case len(d) == 1 && !end:
		return 0
	case len(d) == 1:
		return in.literal(d)
	case d[1] == '\n':
		in.breakLine(hardNode)
		return 2
	case isPunct(d[1]):
		in.text(d[1:2], noAttr, nowhere)
		return 2
	}
	return in.literal(d[:1])
}

// isPunct reports whether c is ASCII punctuation.
func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlnum(rune(c))
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// runOf returns the length of the run of c at the beginning of d.
func runOf(d []byte, c byte) int {
	n := 0
	for n < len(d) && d[n] == c {
		n++
	}
	return n
}

// codeSpan reads text between two equal runs of backquotes.
func (in *inline) codeSpan(d []byte, end bool) int {
	n := runOf(d, '`')
	if n > maxHeld {
		return in.literal(d[:maxHeld])
	}
	if n == len(d) && !end {
		return 0
	}
	for i := n; i < len(d) && i < n+maxHeld; {
		if d[i] != '`' {
			i++
			continue
		}
		m := runOf(d[i:], '`')
		if i+m == len(d) && m <= n && !end {
			return 0
		}
		if m == n {
			in.code(d[n:i])
			return i + m
		}
		i += m
	}
	if len(d) < n+maxHeld && !end {
		return 0
	}
	return in.literal(d[:n])
}

func (in *inline) code(s []byte) {
	s = bytes.ReplaceAll(s, []byte("\n"), []byte(" "))
	if n := len(s); n > 2 && s[0] == ' ' && s[n-1] == ' ' && len(bytes.TrimSpace(s)) > 0 {
		s = s[1 : n-1]
	}
	in.text(s, code, nowhere)
}

// closing drops the number signs that end a heading.
func (in *inline) closing(d []byte, end bool) int {
	n := runOf(d, '#')
	if n > maxHeld || !in.heading || in.prev != ' ' && in.prev != '\t' && in.prev != '\n' {
		return in.literal(d[:n])
	}
	for n < len(d) && n < maxHeld && (d[n] == '#' && d[n-1] == '#' || d[n] == ' ') {
		n++
	}
	switch {
	case n < len(d):
		return in.literal(d[:n])
	case end:
		return n
	}
	return 0
}

// entity reads a character written as &name; or &#number;.
func (in *inline) entity(d []byte, end bool) int {
	const longestName = 32
	n := 1
	for n < len(d) && n < longestName && (isAlnum(rune(d[n])) || d[n] == '#' && n == 1) {
		n++
	}
	if n == len(d) && !end {
		return 0
	}
	if n < len(d) && d[n] == ';' {
		if text := entityText(string(d[1:n])); text != nil {
			in.text(text, noAttr, nowhere)
			return n + 1
		}
	}
	return in.literal(d[:1])
}
