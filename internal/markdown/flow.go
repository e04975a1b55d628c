package markdown

import "unicode/utf8"

// A margin is the text to the left of one list item or quote.
type margin struct {
	first, rest string // on the first line, and on those after it
	columns     int    // of either
	attr        attr
	used        bool // the first line is out
}

// A flow wraps words into lines. The first word of a line is written as it arrives; any other is held until its end,
// because only then it is known to fit.
type flow struct {
	out     *term
	limit   int  // columns of a line; zero means no wrapping
	strict  bool // cut addresses too
	margins []margin
	widths  []int // of the lines that are finished, if measure
	measure bool

	gapDue   bool // an empty line is due before the next
	gapDepth int  // the number of its margins
	started  bool // there is a line
	inLine   bool // the margin of the line is out
	empty    bool // nothing but the margin is out
	pad      int  // spaces of the margin that are held until text follows
	left     int  // where the text begins
	edge     int  // where it must end
	col      int

	spaces int   // between the text so far and the next word
	blank  style // of those spaces
	soft   bool  // they are the end of a source line

	unit     []byte // the word that waits
	segs     []seg
	unitCols int
	direct   bool // the word is written as it arrives
	glued    bool // and began within a line, after a wide character

	prev      rune
	prevWidth int
}

type seg struct {
	end int
	style
}

const (
	minRoom = 10   // least columns of text, even in the deepest list
	slack   = 8    // columns that must be free behind a wide character to write it at once
	longest = 4096 // bytes of a word of no width
)

// text adds s, which holds no newline.
func (f *flow) text(s []byte, st style) {
	for len(s) > 0 {
		n := 1
		switch c := s[0]; {
		case c == ' ' || c == '\t':
			f.space(st)
		case c < utf8.RuneSelf:
			n = f.ascii(s, st)
		default:
			var r rune
			r, n = utf8.DecodeRune(s)
			w := columnsAfter(f.prev, f.prevWidth, r)
			f.add(s[:n], w, st, r, w)
			f.prev, f.prevWidth = r, w
			if r == emoji && w == 1 {
				f.prevWidth = 2
			}
		}
		s = s[n:]
	}
}

// ascii adds as much of the word at the beginning of s as fits the line.
func (f *flow) ascii(s []byte, st style) int {
	most := len(s)
	if f.limit > 0 && !f.direct {
		most = min(most, max(1, f.edge-f.col-f.spaces-f.unitCols+1))
	}
	n := 0
	for n < most && s[n] > ' ' && s[n] < utf8.RuneSelf {
		n++
	}
	f.add(s[:n], n, st, rune(s[0]), 1)
	f.prev, f.prevWidth = rune(s[n-1]), 1
	return n
}

func (f *flow) space(st style) {
	f.endUnit()
	if st.attr&code != 0 {
		f.spaces++
	} else {
		f.spaces = max(f.spaces, 1)
	}
	f.blank, f.prev, f.prevWidth, f.soft = st, ' ', 1, false
}

// softBreak is the end of a source line inside a paragraph.
func (f *flow) softBreak(st style) {
	f.endUnit()
	if f.limit == 0 {
		f.endLine()
		return
	}
	f.spaces, f.blank, f.soft = max(f.spaces, 1), st, true
}

func (f *flow) hardBreak() {
	f.endUnit()
	f.open() // two of them make an empty line
	f.newline()
}

// add takes a piece of a word: s, w columns wide, whose first character is r.
func (f *flow) add(s []byte, w int, st style, r rune, rWidth int) {
	if f.soft && dense(f.prev) && dense(r) {
		f.spaces = 0
	}
	if mayBreak(f.prev, f.prevWidth, r, rWidth) {
		f.endUnit()
	}
	f.soft = false
	if f.glued && rWidth == 1 {
		f.direct, f.glued = false, false // a word after a wide character is wrapped as a whole
	}
	if !f.direct && len(f.unit) == 0 {
		f.begin(r, rWidth)
	}
	if f.direct {
		f.emit(s, w, st)
		return
	}
	f.hold(s, w, st)
}

// begin decides whether a new word can be written as it arrives.
func (f *flow) begin(r rune, w int) {
	f.open()
	f.glued = w == 2 && f.col+f.spaces+w+slack <= f.edge && !endsNone(r)
	f.direct = f.limit == 0 || f.empty || f.glued
	f.glued = f.glued && !f.empty && f.limit > 0
	if f.direct {
		f.placeSpaces()
	}
}

func (f *flow) hold(s []byte, w int, st style) {
	if w == 0 && len(f.unit) > longest {
		f.endUnit() // combining marks on one character
	}
	f.unit = append(f.unit, s...)
	f.unitCols += w
	if n := len(f.segs); n > 0 && f.segs[n-1].style == st {
		f.segs[n-1].end = len(f.unit)
	} else {
		f.segs = append(f.segs, seg{len(f.unit), st})
	}
	if f.col+f.spaces+f.unitCols > f.edge {
		f.newline()
		f.open()
		f.placeUnit()
		f.direct = true
	}
}

// endUnit writes the held word, which fits: otherwise it would have been wrapped.
func (f *flow) endUnit() {
	if len(f.unit) > 0 {
		f.placeSpaces()
		f.placeUnit()
	}
	f.direct, f.glued = false, false
}

func (f *flow) placeSpaces() {
	if f.spaces > 0 && !f.empty {
		f.out.blanks(f.spaces, f.blank)
		f.col += f.spaces
	}
	f.spaces = 0
}

func (f *flow) placeUnit() {
	from, fits := 0, f.col+f.unitCols <= f.edge
	for _, sg := range f.segs {
		part := f.unit[from:sg.end]
		from = sg.end
		if fits {
			f.put(part, sg.style)
		} else {
			f.emitSplit(part, sg.style)
		}
	}
	if fits {
		f.col += f.unitCols
	}
	f.unit, f.segs, f.unitCols = f.unit[:0], f.segs[:0], 0
}

// emitSplit is emit for text of mixed widths.
func (f *flow) emitSplit(s []byte, st style) {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		f.emit(s[:n], columns(r), st)
		s = s[n:]
	}
}

// emit writes s, w columns wide, and wraps where it does not fit. If w is more than two, s is ASCII.
func (f *flow) emit(s []byte, w int, st style) {
	if f.limit == 0 || f.col+w <= f.edge || st.attr&keep != 0 && !f.strict {
		f.put(s, st)
		f.col += w
		return
	}
	for len(s) > 0 {
		n, cols := len(s), w
		if w > 2 || w == len(s) {
			n = min(n, max(f.edge-f.col, 1))
			cols = n
		}
		if f.col+cols > f.edge && f.col > f.left {
			f.newline()
			f.open()
			continue
		}
		f.put(s[:n], st)
		f.col += cols
		s, w = s[n:], w-cols
	}
}

func (f *flow) put(s []byte, st style) {
	if f.pad > 0 {
		f.out.blanks(f.pad, style{})
		f.pad = 0
	}
	f.out.put(s, st)
	f.empty = false
}

// verbatim writes s after the margin without wrapping.
func (f *flow) verbatim(s []byte, st style) {
	f.open()
	if len(s) > 0 {
		f.put(s, st)
		f.col++ // the exact column does not matter: such a line is never wrapped
	}
}

// open writes the margin of a new line.
func (f *flow) open() {
	if f.inLine {
		return
	}
	f.gap()
	f.started, f.inLine, f.empty = true, true, true
	f.col, f.pad, f.spaces = 0, 0, 0
	for i := range f.margins {
		m := &f.margins[i]
		text := m.rest
		if !m.used {
			text, m.used = m.first, true
		}
		f.border(text, m)
	}
	f.left, f.edge = f.col, 0
	if f.limit > 0 {
		f.edge = max(f.limit, f.left+min(minRoom, f.limit))
	}
}

// border writes one margin; its trailing spaces are held until text follows.
func (f *flow) border(text string, m *margin) {
	n := len(text)
	for n > 0 && text[n-1] == ' ' {
		n--
	}
	if n > 0 {
		f.put([]byte(text[:n]), style{attr: m.attr})
		f.empty = true
	}
	f.pad += len(text) - n
	f.col += m.columns
}

func (f *flow) newline() {
	if f.measure {
		f.widths = append(f.widths, f.col)
	}
	f.out.newline()
	f.inLine, f.soft, f.spaces, f.pad = false, false, 0, 0
	f.prev, f.prevWidth = 0, 0
}

// endLine ends the line if one was begun.
func (f *flow) endLine() {
	f.endUnit()
	f.soft, f.spaces = false, 0
	if f.inLine {
		f.newline()
	}
}

// wantGap requests an empty line before the next line, unless that is the first.
func (f *flow) wantGap(depth int) {
	if f.gapDue {
		depth = min(depth, f.gapDepth)
	}
	f.gapDue, f.gapDepth = true, depth
}

// gap writes the empty line that is due.
func (f *flow) gap() {
	due := f.gapDue && f.started
	f.gapDue = false
	if !due {
		return
	}
	all := f.margins
	f.margins = all[:min(f.gapDepth, len(all))]
	f.open()
	f.newline()
	f.margins = all
}

// nest adds a margin to the lines that follow.
func (f *flow) nest(m margin) { f.margins = append(f.margins, m) }

// unnest removes all margins but the first keep.
func (f *flow) unnest(keep int) {
	if f.gapDepth = min(f.gapDepth, keep); keep < len(f.margins) && f.waits() {
		f.open() // an item without text shows its marker
		f.endLine()
	}
	f.margins = f.margins[:keep]
}

// waits reports whether the marker of a list item waits for text.
func (f *flow) waits() bool {
	n := len(f.margins)
	return n > 0 && !f.margins[n-1].used
}

// room returns the columns left of the margin for text.
func (f *flow) room() int {
	left := 0
	for _, m := range f.margins {
		left += m.columns
	}
	return max(f.limit-left, min(minRoom, f.limit))
}
