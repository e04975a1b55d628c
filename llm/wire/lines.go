package wire

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 8 << 20

// ErrLong is the error of a line that is longer than MaxLine.
var ErrLong = errors.New("a line of more than 8 MB")

// Lines reads a text line by line.
type Lines struct {
	from       io.Reader
	buf        []byte
	start, end int // of what was read but not returned
	err        error
}

// NewLines returns a reader of the lines of a text.
func NewLines(from io.Reader) *Lines { return &Lines{from: from, buf: make([]byte, 16<<10)} }

// Next returns the next line, without its end, until the next call. The last one may lack its end: whole tells. After
// an error other than io.EOF, what was read of a line is not returned.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n'); i >= 0 && seen+i <= MaxLine {
			line = l.buf[l.start : l.start+seen+i]
			l.start += seen + i + 1
			return chomp(line), true, nil
		}
		if seen = l.end - l.start; seen > MaxLine {
			return nil, false, ErrLong
		}
		if l.err == io.EOF && seen > 0 {
			line, l.start = l.buf[l.start:l.end], l.end
			return chomp(line), false, nil
		}
		if l.err != nil {
			return nil, false, l.err
		}
		l.fill()
	}
}

// fill reads some more, making room for it first.
func (l *Lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	var n int
	for tries := 0; n == 0 && l.err == nil; tries++ {
		n, l.err = l.from.Read(l.buf[l.end:])
		if tries == 100 && l.err == nil {
			l.err = io.ErrNoProgress
		}
	}
	l.end += n
}

func chomp(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }
