package engine

import (
	"encoding/binary"
	"errors"
	"io"
)

// Streams that are multiplexed on one connection.
const (
	streamStderr  = 2 // 0 and 1 are standard input and output
	streamTrouble = 3 // the engine's own errors
)

const maxPiece = 32 << 10 // bytes held at a time, whatever the length of a frame

var errFrame = errors.New("the stream is invalid")

// A writeError is an error of the writer, not of the engine.
type writeError struct{ cause error }

func (w *writeError) Error() string { return w.cause.Error() }
func (w *writeError) Unwrap() error { return w.cause }

// A resetError is a connection reset between two frames.
type resetError struct{ cause error }

func (r *resetError) Error() string { return r.cause.Error() }
func (r *resetError) Unwrap() error { return r.cause }

// demux splits a stream into standard output and standard error.
func demux(in io.Reader, stdout, stderr io.Writer) error {
	var head [8]byte
	buf := make([]byte, maxPiece)
	for {
		switch n, err := io.ReadFull(in, head[:]); {
		case err == io.EOF:
			return nil
		case err != nil && n == 0:
			return &resetError{err}
		case err != nil:
			return err
		case head[0] > streamTrouble || head[1]|head[2]|head[3] != 0:
			return errFrame
		}
		to := stdout
		if head[0] >= streamStderr {
			to = stderr
		}
		if err := pass(in, to, int64(binary.BigEndian.Uint32(head[4:])), buf); err != nil {
			return err
		}
	}
}

// pass copies n bytes.
func pass(in io.Reader, to io.Writer, n int64, buf []byte) error {
	for n > 0 {
		piece := buf[:min(n, int64(len(buf)))]
		got, err := io.ReadAtLeast(in, piece, 1)
		if got > 0 {
			n -= int64(got)
			if _, err := to.Write(piece[:got]); err != nil {
				return &writeError{err}
			}
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}
