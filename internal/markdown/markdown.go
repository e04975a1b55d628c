// Package markdown renders markdown on a terminal while it is being streamed. The parser works on pieces cut anywhere.
// It holds back only what is still ambiguous (a marker, the beginning of a line that may be a list, a table until its
// end), wraps lines by display width, and writes text, SGR sequences and OSC 8 hyperlinks. It does not support
// reference links and footnotes (their definitions come too late), HTML (shown as text) and highlighting of code. The
// caller knows width and colors of the terminal.
//
// The text is untrusted. Every byte passes text.TerminalFilter first, decoded entities pass it again, and only term
// writes escape sequences.
package markdown

import (
	"bytes"
	"io"

	"hako/internal/text"
)

// Options describe the terminal. The zero value wraps no lines and writes no escape sequences.
type Options struct {
	Width int  // columns; zero means no wrapping
	Color bool // SGR sequences
	Links bool // OSC 8 hyperlinks; false means that URLs are written out
}

// A Writer renders what is written to it. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	err    error // of w, or that the Writer is closed
	clean  text.TerminalFilter
	in     []byte // filtered, but not parsed yet
	out    term
	flow   flow
	inline inline

	stack  []container // the open containers, each with a margin of the flow
	fresh  []container // buffer for those that a line opens
	leaf   leaf
	mode   mode
	fence  fence
	blanks int // pending empty lines in indented code
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

// enough is the size of the output buffer.
const enough = 32 << 10

// Write renders p. What is unambiguous is written before Write returns.
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

// Close renders what was held back and ends the line. It does not close the underlying writer. Closing again does
// nothing.
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

// advance parses as much of the input as it can.
func (w *Writer) advance(end bool) {
	i := 0
	for i < len(w.in) {
		n, ok := w.step(w.in[i:], end)
		if !ok {
			break
		}
		i += min(n, len(w.in)-i) // the end of the input counts as a line end
		if len(w.out.buf) > enough {
			w.flush()
		}
	}
	w.in = w.in[:copy(w.in, w.in[i:])]
}

// mode is what the next byte is part of.
type mode uint8

const (
	lineStart mode = iota
	inText
	inCode
	inRow
)

// step parses the beginning of d and returns its length, or false if more input is needed.
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
