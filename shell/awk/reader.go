package awk

import (
	"io"
	"strings"

	"hako/shell/stream"
)

// recordEnd is what RS says.
type recordEnd struct {
	char      byte
	paragraph bool   // records are separated by empty lines
	re        *regex // nil: char ends a record
}

func (m *machine) newRecordEnd(rs string) recordEnd {
	switch {
	case rs == "":
		return recordEnd{char: '\n', paragraph: true}
	case len(rs) == 1:
		return recordEnd{char: rs[0]}
	}
	re := m.regex(rs)
	if re.kind == literal && len(re.lit) == 1 {
		return recordEnd{char: re.lit[0]}
	}
	return recordEnd{re: re}
}

// A reader cuts a stream into records. It turns whole buffers into strings, so
// that records and fields are pieces of them that cost nothing.
type reader struct {
	src    *stream.Reader
	close  io.Closer // nil: standard input
	taken  []byte    // the buffer that was read last
	copied []byte    // a buffer of our own, see next
	buf    string    // what was read and not yet returned
	raw    []byte    // buf as bytes, for a pattern as RS
	held   int
	end    bool // src has no more
}

// read returns the next record and what ended it.
func (r *reader) read(m *machine) (rec, end string, ok bool) {
	switch {
	case m.rs.re != nil:
		return r.readPattern(m)
	case m.rs.paragraph:
		return r.readParagraph(m)
	case m.cfg.CSV:
		return r.readQuoted(m)
	}
	if i := strings.IndexByte(r.buf, m.rs.char); i >= 0 {
		rec, end = r.buf[:i], r.buf[i:i+1]
		r.buf = r.buf[i+1:]
		return rec, end, true
	}
	return r.readLong(m)
}

// readLong is read when the buffer holds no end of a record.
func (r *reader) readLong(m *machine) (rec, end string, ok bool) {
	for !r.end {
		seen := len(r.buf)
		r.fill(m)
		if i := strings.IndexByte(r.buf[seen:], m.rs.char); i >= 0 {
			return r.take(seen+i, 1)
		}
	}
	return r.rest()
}

// take returns a record of n bytes and what ends it.
func (r *reader) take(n, end int) (string, string, bool) {
	rec, mark := r.buf[:n], r.buf[n:n+end]
	r.buf = r.buf[n+end:]
	return rec, mark, true
}

// rest returns what no end follows.
func (r *reader) rest() (string, string, bool) {
	rec := r.buf
	r.buf = ""
	return rec, "", rec != ""
}

// fill reads more. What is left over of the last buffer is copied in front of
// the new one, so a record much longer than a buffer is gathered in steps that
// double.
func (r *reader) fill(m *machine) {
	rest := len(r.buf)
	var more []byte
	for {
		b, err := r.next(m)
		if err == io.EOF {
			r.end = true
			r.taken = nil
			break
		}
		if err != nil {
			panic(&abort{err})
		}
		m.steps-- // input counts as work
		if rest <= stream.Size && more == nil {
			r.charge(m, rest+len(b))
			r.buf += string(b)
			break
		}
		r.charge(m, rest+2*(len(more)+len(b)))
		if more = append(more, b...); len(more) >= rest {
			break
		}
	}
	if len(more) > 0 {
		r.taken = nil // what is left over is ours alone now
		r.buf += string(more)
	}
	r.raw = nil
}

// next reads a buffer. While a command may be reading from the same stream it
// is a copy, and what is printed must not wait for it.
func (r *reader) next(m *machine) ([]byte, error) {
	if r.src != m.cfg.Stdin || !m.cmds.sharing {
		b, err := r.src.Chunk()
		r.taken = b
		return b, err
	}
	_ = m.out.Flush() // the next print reports it
	if r.copied == nil {
		r.copied = make([]byte, stream.Size)
	}
	n, err := r.src.Read(r.copied)
	return r.copied[:n], err
}

// charge holds the room a buffer of n bytes needs, if it is more than usual.
func (r *reader) charge(m *machine, n int) {
	if n <= 2*stream.Size {
		n = 0
	}
	if n != r.held {
		m.hold(2 * (n - r.held))
		r.held = n
	}
}

func (r *reader) readPattern(m *machine) (rec, end string, ok bool) {
	re := m.cased(m.rs.re)
	for {
		if r.raw == nil {
			m.fits(2 * len(r.buf))
			r.raw = []byte(r.buf)
		}
		b := r.raw[len(r.raw)-len(r.buf):]
		loc := firstMatch(re, b, m.loc)
		if loc != nil && (loc[1] < len(b) || r.end) { // at the end of the buffer it could be longer
			m.loc = loc
			return r.take(loc[0], loc[1]-loc[0])
		}
		if r.end {
			return r.rest()
		}
		r.fill(m)
	}
}

// firstMatch returns the first match that is not empty.
func firstMatch(re *regex, b []byte, loc []int) []int {
	for from := 0; from <= len(b); {
		loc = re.find(b, from, loc)
		if loc == nil || loc[1] > loc[0] {
			return loc
		}
		from = loc[1] + 1
	}
	return nil
}

// last returns the final record; the newline that ends the file is no part of it.
func (r *reader) last() (string, string, bool) {
	if n := len(r.buf) - 1; n >= 0 && r.buf[n] == '\n' {
		return r.take(n, 1)
	}
	return r.rest()
}

func (r *reader) readParagraph(m *machine) (rec, end string, ok bool) {
	for {
		r.buf = strings.TrimLeft(r.buf, "\n")
		if r.buf != "" || r.end {
			break
		}
		r.fill(m)
	}
	for {
		i := strings.Index(r.buf, "\n\n")
		if i >= 0 {
			after := len(r.buf) - len(strings.TrimLeft(r.buf[i:], "\n"))
			if after < len(r.buf) || r.end {
				return r.take(i, after-i)
			}
		}
		if r.end {
			return r.last()
		}
		r.fill(m)
	}
}

// readQuoted reads a line of comma-separated values; a newline in quotes is
// part of the record.
func (r *reader) readQuoted(m *machine) (rec, end string, ok bool) {
	quoted := false
	for i := 0; ; i++ {
		for i >= len(r.buf) {
			if r.end {
				return r.rest()
			}
			r.fill(m)
		}
		switch c := r.buf[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			cr := 0
			if i > 0 && r.buf[i-1] == '\r' {
				cr = 1
			}
			return r.take(i-cr, 1+cr)
		}
	}
}

// shut closes the reader while the program goes on.
func (r *reader) shut(m *machine) {
	r.charge(m, 0)
	r.release()
}

// release gives back what was read too far, so that the next command on the
// same descriptor finds it.
func (r *reader) release() {
	if r.close == nil && r.taken != nil && len(r.buf) <= len(r.taken) {
		r.src.Unread(r.taken, len(r.buf))
	}
	if r.close != nil {
		r.src.Release()
		_ = r.close.Close() // nothing was written
	}
}
