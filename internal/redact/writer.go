package redact

import (
	"io"
	"strings"
)

// blockSize is how much of a stream is processed at once.
const blockSize = 64 << 10

// A Writer removes secrets from a stream, as [Set.Text] does from a text, but line by line: an unclosed quote in
// one line does not affect the rest. Private keys and registered values may span lines. The result does not
// depend on how the stream is split into writes.
//
// It holds back up to 64 KB until Close, a live one no more than a line and what may be the beginning of a value.
// It is not safe for concurrent use.
type Writer struct {
	values *valueWriter // nil: no values are registered
	lines  lineWriter
	live   bool
}

// NewWriter returns a writer that writes to w what is not secret. It uses the values that s has now; a nil s has
// none. It is fastest if w is an [io.StringWriter].
func NewWriter(w io.Writer, s *Set) *Writer {
	r := &Writer{lines: lineWriter{out: w}}
	if v := s.known(); len(v) > 0 {
		r.values = &valueWriter{out: &r.lines, matcher: newMatcher(v)}
	}
	return r
}

// NewLiveWriter is [NewWriter] for live output: a line is written as soon as it is complete. Many small writes
// cost more.
func NewLiveWriter(w io.Writer, s *Set) *Writer {
	r := NewWriter(w, s)
	r.live = true
	return r
}

// Write implements [io.Writer].
func (r *Writer) Write(p []byte) (int, error) {
	if r.values != nil {
		r.values.write(p)
	} else {
		r.lines.write(p)
	}
	if r.live {
		r.release()
	}
	if r.lines.err != nil {
		return 0, r.lines.err
	}
	return len(p), nil
}

// Places returns how many places of the output have [Mark] instead of a secret. It is complete after Close.
func (r *Writer) Places() int { return r.lines.places }

// release writes complete lines.
func (r *Writer) release() {
	if r.values != nil {
		r.values.advance(r.values.decided())
	}
	r.lines.release()
}

// Close writes the rest. It does not close the underlying writer. Nothing may be written afterwards.
func (r *Writer) Close() error {
	if r.values != nil {
		r.values.advance(r.values.buf.Len())
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
	full := blockSize + w.matcher.values.longest()
	for len(p) > 0 {
		n := min(len(p), full-w.buf.Len())
		w.buf.Write(p[:n])
		p = p[n:]
		if w.buf.Len() == full {
			w.advance(blockSize + 1)
		}
	}
}

// decided returns up to where values are known: the rest may be the beginning of a value that continues in the
// next write.
func (w *valueWriter) decided() int {
	s := w.buf.String()
	limit := len(s)
	for _, value := range w.matcher.values {
		for at := max(0, len(s)-len(value)+1); at < limit; at++ {
			if strings.HasPrefix(value, s[at:]) {
				limit = at
			}
		}
	}
	return limit
}

// advance writes everything before limit, and the rest of a value across it.
func (w *valueWriter) advance(limit int) {
	s := w.buf.String()
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
		w.out.places++
		w.out.before++
		w.out.writeString(Mark)
		at = to
	}
	w.buf.Reset()
	w.buf.WriteString(s[at:])
}
