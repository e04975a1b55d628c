package egress

import (
	"bufio"
	"io"
	"strconv"
	"sync/atomic"
)

// A body is the body of a request. The goroutine that reads it is not the one that waits for its end.
type body struct {
	in      *bufio.Reader
	left    int64 // of the body, or of this chunk
	chunked bool
	begun   bool
	begin   func() error // called before the first byte is read
	passed  func(n int)  // called with the number of bytes read
	over    atomic.Bool  // it was read to its end, and in is free again
}

// newBody returns a body of a length from head.length.
func newBody(in *bufio.Reader, length int64) *body {
	b := &body{in: in, left: max(length, 0), chunked: length < 0}
	b.over.Store(length == 0)
	return b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.over.Load() {
		return 0, io.EOF
	}
	if err := b.start(); err != nil {
		return 0, err
	}
	if b.left == 0 && b.chunked {
		if err := b.nextChunk(); err != nil {
			return 0, unexpectedEOF(err)
		}
	}
	if b.left == 0 {
		b.over.Store(true)
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.passed(n)
	if err == nil && b.left == 0 {
		err = b.finish()
	}
	return n, unexpectedEOF(err)
}

// unexpectedEOF replaces the end of the connection within a body: otherwise an incomplete body would be passed on as
// complete.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (b *body) start() error {
	if b.begun {
		return nil
	}
	b.begun = true
	return b.begin()
}

// finish ends a body of known length, or a chunk.
func (b *body) finish() error {
	if b.chunked {
		return b.emptyLine()
	}
	b.over.Store(true)
	return nil
}

// Close implements io.Closer. It does not close the connection.
func (b *body) Close() error { return nil }

// maxSizeLine is the maximum length of the line before a chunk.
const maxSizeLine = 18

// nextChunk reads the line before a chunk, and the end after the last one. It refuses extensions and trailers: nobody
// needs them, and parsers differ about where they end.
func (b *body) nextChunk() error {
	limit := maxSizeLine
	line, err := readLine(b.in, &limit)
	if err != nil {
		return err
	}
	size, err := strconv.ParseUint(line, 16, 62)
	if err != nil {
		return malformed("a chunk of the body has no plain size")
	}
	if b.left = int64(size); size == 0 {
		return b.emptyLine()
	}
	return nil
}

func (b *body) emptyLine() error {
	limit := len("\r\n")
	if line, err := readLine(b.in, &limit); err != nil || line != "" {
		return malformed("a chunk of the body does not end where it should")
	}
	return nil
}
