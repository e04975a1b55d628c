// Package markdown shows a model's answer on a terminal while it is being written. Inside is a reader of markdown that
// works on pieces cut anywhere: it holds back only what can still mean two things (a marker, the beginning of a line
// that may be a list, a table until its end), lays words into lines by the columns they take, and writes text, SGR
// sequences and OSC 8 hyperlinks. Deliberately not inside: a document tree, reference links and footnotes (their
// definitions come too late), HTML (shown as text), highlighting of code, and anything about the terminal itself; who
// calls knows its width and colours.
//
// The rule to keep: the text is not to be trusted. Every byte passes text.TerminalFilter before anything else looks at
// it, what is decoded later passes it again, and only term writes escape sequences.
package markdown

import (
	"bytes"
	"io"

	"hako/internal/text"
)

// Options say what the terminal can do. The zero value is a terminal that can do nothing: no lines are wrapped, nothing
// is coloured.
type Options struct {
	Width int  // columns; zero means no wrapping: source lines stay lines
	Color bool // SGR sequences; false means none, with the same layout
	Links bool // OSC 8 hyperlinks; false means that addresses are written out
}

// A Writer renders what is written to it. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	err    error // of w, or that the Writer is closed
	clean  text.TerminalFilter
	in     []byte // cleaned, but not understood yet
	out    term
	flow   flow
	inline inline

	stack  []container // those around the text, each with a margin of the flow
	fresh  []container // room for those a line opens
	leaf   leaf
	mode   mode
	fence  fence
	blanks int // empty lines in indented code, if more of it comes
	table  table
}

// NewWriter returns a Writer that renders to w.
func NewWriter(w io.Writer, o Options) *Writer {
	m := &Writer{w: w}
	m.out = term{color: o.Color, links: o.Links}
	m.flow = flow{out: &m.out, limit: max(o.Width, 0)}
	m.inline = inline{flow: &m.flow}
	return m
}

// enough is how much output may pile up before it is written.
const enough = 32 << 10

// Write renders p. What has only one meaning is written before Write returns.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.in = w.clean.Append(w.in, p)
	w.advance(false)
	w.flush()
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close renders what was held back and ends the line. It does not close the writer below. Closing again does nothing.
func (w *Writer) Close() error {
	if w.err == io.ErrClosedPipe {
		return nil
	}
	w.in = w.clean.Flush(w.in)
	w.advance(true)
	if w.mode == inRow {
		w.endRow()
	}
	w.closeLeaf()
	w.flow.endLine()
	w.closeContainers(0)
	w.flush()
	err := w.err
	w.err = io.ErrClosedPipe
	return err
}

func (w *Writer) flush() {
	if len(w.out.buf) > 0 && w.err == nil {
		_, w.err = w.w.Write(w.out.buf)
	}
	w.out.buf = w.out.buf[:0]
}

// advance understands as much of the input as it can.
func (w *Writer) advance(end bool) {
	i := 0
	for i < len(w.in) {
		n, ok := w.step(w.in[i:], end)
		if !ok {
			break
		}
		i += min(n, len(w.in)-i) // the end of the text counts as a line end
		if len(w.out.buf) > enough {
			w.flush()
		}
	}
	w.in = w.in[:copy(w.in, w.in[i:])]
}

// mode is what the next byte belongs to.
type mode uint8

const (
	lineStart mode = iota
	inText
	inCode
	inRow
)

// step understands the beginning of d and returns its length, or false if that depends on what comes.
func (w *Writer) step(d []byte, end bool) (int, bool) {
	if w.mode == lineStart {
		return w.startLine(d, end)
	}
	n := bytes.IndexByte(d, '\n')
	ended := n >= 0
	if !ended {
		n = len(d)
	}
	if w.mode == inRow {
		return w.readRow(d[:n], ended), true
	}
	if w.mode == inCode {
		w.flow.verbatim(d[:n], style{attr: code})
	} else {
		w.inline.write(d[:n])
	}
	if ended {
		w.endOfLine()
		n++
	}
	return n, true
}

// endOfLine ends a source line of text or code. A paragraph may go on.
func (w *Writer) endOfLine() {
	w.mode = lineStart
	if w.leaf == heading {
		w.closeLeaf()
	}
}
