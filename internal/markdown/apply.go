package markdown

import "strings"

// apply renders the block structure of a line.
func (w *Writer) apply(l *line) {
	if w.table.candidate && !w.moreTable(l) {
		w.settle()
	}
	switch l.kind {
	case blankLine:
		w.blankLine(l)
	case codeLine:
		w.beginCode(l)
	case endFenceLine:
		w.closeLeaf()
	case indentedLine:
		w.indentedLine(l)
	case rowLine:
		w.rowLine(l)
	case textLine:
		w.textLine(l)
	default:
		w.blockLine(l)
	}
}

// blockLine is apply for lines that always begin a block.
func (w *Writer) blockLine(l *line) {
	switch l.kind {
	case headingLine:
		w.begin(l, true)
		w.leaf, w.mode = heading, inText
		w.inline.reset(titleOf(l.count), true)
	case fenceLine:
		w.begin(l, true)
		w.leaf, w.fence = fenced, fence{l.char, l.count, l.indent}
		if l.info != "" {
			w.flow.verbatim([]byte(l.info), style{attr: dim})
		}
	case ruleLine:
		w.begin(l, false)
		w.drawRule("─", 80)
	case underLine: // the text of the heading is already shown
		w.closeLeaf()
		w.flow.endLine()
		w.drawRule(underline(l.char), l.count)
	}
}

func titleOf(level int) attr {
	if level == 1 {
		return topTitle
	}
	return title
}

func underline(char byte) string {
	if char == '=' {
		return "═"
	}
	return "─"
}

func (w *Writer) drawRule(s string, n int) {
	if w.flow.limit > 0 {
		n = min(n, w.flow.room())
	}
	w.flow.verbatim([]byte(strings.Repeat(s, n)), style{attr: dim})
}

// begin closes what the line does not continue and opens its containers. A block that is apart has an empty line before
// it even if the source has none.
func (w *Writer) begin(l *line, apart bool) {
	w.closeLeaf()
	last := container{}
	if l.keep < len(w.stack) {
		last = w.stack[l.keep]
	}
	w.flow.endLine()
	w.out.forget()
	w.closeContainers(l.keep)
	if apart && len(l.fresh) == 0 && !w.flow.waits() {
		w.flow.wantGap(l.keep)
	}
	for i, ct := range l.fresh {
		if i == 0 && !ct.quote && ct.kind == last.kind {
			ct.number = last.number + 1 // many models write 1. before every item
		}
		w.flow.nest(ct.margin(w.stack))
		w.stack = append(w.stack, ct)
	}
}

// closeContainers ends all but keep.
func (w *Writer) closeContainers(keep int) {
	w.flow.unnest(keep)
	w.stack = w.stack[:keep]
}

// closeLeaf ends the block that text went to.
func (w *Writer) closeLeaf() {
	if w.table.candidate {
		w.settle()
	}
	switch w.leaf {
	case paragraph, heading:
		w.inline.finish()
	case fenced:
		w.flow.wantGap(len(w.stack))
	case indented:
		if w.blanks > 0 {
			w.flow.wantGap(len(w.stack))
		}
		w.blanks = 0
	case tabular:
		w.endTable()
		w.flow.wantGap(len(w.stack))
	}
	w.leaf = none
}

func (w *Writer) blankLine(l *line) {
	switch {
	case len(l.fresh) > 0:
		w.begin(l, false)
	case w.leaf == indented && l.keep == len(w.stack):
		w.blanks++
	default:
		w.closeLeaf()
		w.closeContainers(l.keep)
		w.flow.wantGap(l.keep)
	}
}

func (w *Writer) textLine(l *line) {
	w.mode = inText
	if w.leaf == paragraph && len(l.fresh) == 0 {
		w.inline.write([]byte("\n"))
		return
	}
	w.begin(l, false)
	w.leaf = paragraph
	w.inline.reset(noAttr, false)
}

func (w *Writer) indentedLine(l *line) {
	if w.leaf != indented || l.keep < len(w.stack) || len(l.fresh) > 0 {
		w.begin(l, false)
		w.leaf = indented
	}
	for ; w.blanks > 0; w.blanks-- {
		w.flow.endLine()
		w.flow.open()
	}
	w.beginCode(l)
}

// beginCode begins a line of code.
func (w *Writer) beginCode(l *line) {
	w.flow.endLine()
	w.flow.verbatim([]byte(strings.Repeat(" ", l.pad)), style{attr: code})
	w.mode = inCode
}
