package markdown

import (
	"bytes"
	"slices"
	"strings"
)

// A grid lays out the cells of a table.
type grid struct {
	aligns []align
	rows   [][]cell
	widths []int
	thin   bool // no blanks beside the bars

	out    term // for one cell at a time
	flow   flow
	inline inline
}

// A cell is the text of a cell, and its wrapped lines.
type cell struct {
	text  string
	lines [][]byte
	cols  []int // of each line
}

const narrow = 2 // columns of the narrowest cell: one wide character

func newGrid(aligns []align, color, links bool) *grid {
	g := &grid{aligns: aligns, out: term{color: color, links: links}}
	g.flow = flow{out: &g.out, strict: true, measure: true}
	g.inline = inline{flow: &g.flow}
	return g
}

// add takes a row and widens the columns to what it needs.
func (g *grid) add(texts []string) {
	row := make([]cell, len(texts))
	for i, text := range texts {
		if i == len(g.widths) {
			g.widths = append(g.widths, 1)
		}
		row[i].text = strings.TrimSpace(text)
		g.render(&row[i], 0, len(g.rows) == 0)
		g.widths[i] = max(g.widths[i], row[i].cols[0])
	}
	g.rows = append(g.rows, row)
}

// fit narrows the columns, the widest first, until all fit into room. A limit of zero means no limit.
func (g *grid) fit(limit, room int) {
	n := len(g.widths)
	if n == 0 || limit == 0 {
		return
	}
	bars := 3 * (n - 1)
	if g.thin = n*narrow+bars > room; g.thin {
		bars = n - 1
	}
	room = max(room-bars, n*narrow)
	most := slices.Max(g.widths)
	for most > narrow && sum(g.widths, most) > room {
		most--
	}
	left := room - sum(g.widths, most)
	for i, w := range g.widths {
		g.widths[i] = min(w, most)
		if w > most && left > 0 {
			g.widths[i]++
			left--
		}
	}
}

// sum of the widths, none counted for more than most.
func sum(widths []int, most int) int {
	n := 0
	for _, w := range widths {
		n += min(w, most)
	}
	return n
}

// render breaks a cell into lines of at most width columns.
func (g *grid) render(c *cell, width int, head bool) {
	g.out.buf = g.out.buf[:0]
	g.out.forget()
	g.flow.limit, g.flow.widths, g.flow.inLine = width, nil, false
	base := noAttr
	if head {
		base = bold
	}
	g.inline.reset(base, false)
	g.inline.write([]byte(c.text))
	g.inline.finish()
	g.flow.open()
	g.flow.endLine()
	all := bytes.Clone(g.out.buf[:len(g.out.buf)-1])
	c.lines, c.cols = bytes.Split(all, []byte("\n")), g.flow.widths
}

// lines renders row i.
func (g *grid) lines(i int) [][]byte {
	row, height := g.rows[i], 1
	for c := range row {
		if row[c].cols[0] > g.widths[c] {
			g.render(&row[c], g.widths[c], i == 0)
		}
		height = max(height, len(row[c].lines))
	}
	all := make([][]byte, height)
	for h := range all {
		for c := range g.widths {
			text, width := []byte(nil), 0
			if c < len(row) && h < len(row[c].lines) {
				text, width = row[c].lines[h], row[c].cols[h]
			}
			all[h] = g.place(all[h], c, text, width)
		}
		all[h] = bytes.TrimRight(all[h], " ")
	}
	return all
}

// place appends the line of a cell in column c, filled up with blanks.
func (g *grid) place(l []byte, c int, text []byte, width int) []byte {
	if c > 0 {
		l = append(l, g.bar()...)
	}
	free := max(g.widths[c]-width, 0)
	before := 0
	if c < len(g.aligns) && g.aligns[c] != alignLeft {
		before = free
		if g.aligns[c] == alignCenter {
			before = free / 2
		}
	}
	l = append(l, strings.Repeat(" ", before)...)
	l = append(l, text...)
	return append(l, strings.Repeat(" ", free-before)...)
}

// bar divides two cells.
func (g *grid) bar() []byte {
	t := term{color: g.out.color}
	pad := 1
	if g.thin {
		pad = 0
	}
	t.blanks(pad, style{})
	t.put([]byte("│"), style{attr: dim})
	t.blanks(pad, style{})
	t.to(style{})
	return t.buf
}

// ruler is the line below the head.
func (g *grid) ruler() []byte {
	var parts []string
	for _, w := range g.widths {
		parts = append(parts, strings.Repeat("─", w))
	}
	if g.thin {
		return []byte(strings.Join(parts, "┼"))
	}
	return []byte(strings.Join(parts, "─┼─"))
}
