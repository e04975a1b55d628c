package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 8 << 20

// errLong is the error of a line that is longer than MaxLine.
var errLong = errors.New("a line of more than 8 MB")

// Lines reads a text line by line.
type Lines struct {
	from *bufio.Reader
	long []byte // a line that did not fit into the buffer
}

// NewLines returns a reader of the lines of a text.
func NewLines(from io.Reader) *Lines { return &Lines{from: bufio.NewReaderSize(from, 16<<10)} }

// Next returns the next line without its end; it is valid until the next call. whole is false if the last line lacks
// its end. After an error other than io.EOF, the beginning of a line is not returned.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	l.long = l.long[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		whole = err == nil
		if line = part; len(l.long) > 0 || err == bufio.ErrBufferFull {
			l.long = append(l.long, part...)
			line = l.long
		}
		if len(bytes.TrimSuffix(line, []byte{'\n'})) > maxLine {
			return nil, false, errLong
		}
		if whole || err == io.EOF && len(line) > 0 {
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), whole, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, false, err
		}
	}
}
