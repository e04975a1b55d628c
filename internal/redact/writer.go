package redact

import (
	"io"
	"strings"
)

// block is how much of a stream is looked at together.
const block = 64 << 10

// A Writer removes secrets from what passes through it, as [Set.Text] does from
// a text, but line by line: what a quote that is never closed does to one line
// does not spoil the rest. Private keys and registered values may extend over
// many lines. How the stream is cut into writes makes no difference.
//
// It holds back up to 64 KB until Close. It is not safe for concurrent use.
type Writer struct {
	values *valueWriter // nil: no values are registered
	lines  lineWriter
}

// NewWriter returns a writer that passes on to w what is not secret. It knows
// the values that s has now; a nil s has none. It is cheapest if w is an
// [io.StringWriter].
func NewWriter(w io.Writer, s *Set) *Writer {
	r := &Writer{lines: lineWriter{out: w}}
	if v := s.known(); len(v) > 0 {
		r.values = &valueWriter{out: &r.lines, matcher: newMatcher(v)}
	}
	return r
}

// Write implements [io.Writer].
func (r *Writer) Write(p []byte) (int, error) {
	if r.values != nil {
		r.values.write(p)
	} else {
		r.lines.write(p)
	}
	if r.lines.err != nil {
		return 0, r.lines.err
	}
	return len(p), nil
}

// Close passes on the rest. It does not close what it writes to. Nothing may be
// written afterwards.
func (r *Writer) Close() error {
	if r.values != nil {
		r.values.advance(true)
	}
	r.lines.advance(true)
	return r.lines.err
}

// A valueWriter removes registered values.
type valueWriter struct {
	out     *lineWriter
	matcher *matcher
	buf     strings.Builder
}

func (w *valueWriter) write(p []byte) {
	full := block + w.matcher.values.longest()
	for len(p) > 0 {
		n := min(len(p), full-w.buf.Len())
		w.buf.Write(p[:n])
		p = p[n:]
		if w.buf.Len() == full {
			w.advance(false)
		}
	}
}

// advance passes on what is decided: at a place that the longest value could
// begin at and end beyond what is known, nothing is.
func (w *valueWriter) advance(last bool) {
	s := w.buf.String()
	limit := len(s)
	if !last {
		limit -= w.matcher.values.longest() - 1
	}
	w.matcher.reset()
	at := 0
	for at < limit {
		from, to := w.matcher.next(s, at)
		if from >= limit {
			w.out.writeString(s[at:limit])
			at = limit
			break
		}
		w.out.writeString(s[at:from])
		w.out.writeString(Mark)
		at = to
	}
	w.buf.Reset()
	w.buf.WriteString(s[at:])
}
