package text

import (
	"bytes"
	"io"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

// A lineCursor reads an input line by line.
type lineCursor struct {
	in   *stream.Reader
	end  byte   // of a line
	line []byte // the current line without its terminator, valid until the next call
	over bool   // there are no more lines
}

// next reads the next line. It aborts on errors.
func (l *lineCursor) next() {
	line, err := l.in.Record(l.end)
	if l.over = err == io.EOF; l.over {
		return
	}
	cli.Check(err)
	l.line = bytes.TrimSuffix(line, []byte{l.end})
}

// chunk returns the next chunk; nil at the end.
func chunk(in *stream.Reader) []byte {
	b, err := in.Chunk()
	cli.Check(cli.NotEOF(err))
	return b
}
