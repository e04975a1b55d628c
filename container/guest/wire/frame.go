// Package wire is the protocol between a guest and its clients: frames, flow control, handshake, errors and commands.
//
// The rule to keep: handshake and error are the same in every version, so that two sides of different versions can
// report why they do not understand each other.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Operations. Handshake and error are the same in every version.
const (
	OpHello = iota + 1 // words: magic, Handshake as JSON
	OpError            // words: a fault as JSON; ID of the request, or zero for the connection

	// To the guest.
	OpExec     // n: number of arguments; words: see CommandRequest
	OpStdin    // words: bytes
	OpStdinEnd // end of input
	OpCancel   // cancels a request
	OpCall     // words: verb, parameters

	// From the guest.
	OpStdout     // words: bytes
	OpStderr     // words: bytes
	OpExited     // words: Ending as JSON
	OpAnswer     // words: depends on the verb
	OpStdinTaken // n: acknowledged bytes
	OpStdinShut  // the command does not read any more

	// To the guest again.
	OpStdoutTaken // n: acknowledged bytes
	OpStderrTaken // n: acknowledged bytes

	opEnd // first invalid operation
)

// Flow control windows of each stream of each command. The receiver buffers in memory: much outside, little inside.
const (
	OutputWindow = 256 << 10
	StdinWindow  = 64 << 10
)

// Size limits.
const (
	MaxChunk    = 32 << 10 // bytes of a stream in one frame
	MaxGreeting = 4 << 10  // of an unknown peer
	MaxFrame    = 32 << 20 // an edit of a large file
	maxWords    = 1 << 16
	KeptBuffer  = 256 << 10 // kept for the next frame
)

// A Frame is one message: a length of four bytes, an operation, the ID of a request, a number, and words. The words
// are arbitrary bytes.
type Frame struct {
	Op    byte
	ID, N uint64
	Words [][]byte
}

// Errors of the codec.
var (
	ErrFrame   = errors.New("the message is invalid")
	ErrTooLong = errors.New("the message is too long")
)

// AppendTo appends the encoded frame to b.
func (f Frame) AppendTo(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, f.Op)
	b = binary.AppendUvarint(b, f.ID)
	b = binary.AppendUvarint(b, f.N)
	for _, w := range f.Words {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// decode decodes a frame without its length. Its words share memory with b.
func decode(b []byte) (f Frame, err error) {
	if len(b) == 0 {
		return f, ErrFrame
	}
	f.Op, b = b[0], b[1:]
	if f.Op == 0 || f.Op >= opEnd {
		return f, ErrFrame
	}
	for _, v := range []*uint64{&f.ID, &f.N} {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			return f, ErrFrame
		}
		*v, b = x, b[n:]
	}
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) || len(f.Words) == maxWords {
			return f, ErrFrame
		}
		f.Words = append(f.Words, b[n:n+int(size)])
		b = b[n+int(size):]
	}
	return f, nil
}

// Word returns a word, or nil if it does not exist.
func (f Frame) Word(i int) []byte {
	if i < len(f.Words) {
		return f.Words[i]
	}
	return nil
}

// size returns the number of bytes of the words.
func (f Frame) size() (n int) {
	for _, w := range f.Words {
		n += len(w)
	}
	return n
}

// Owned returns the frame with a copy of its words.
func (f Frame) Owned() Frame {
	words := make([][]byte, len(f.Words))
	for i, w := range f.Words {
		words[i] = slices.Clone(w)
	}
	f.Words = words
	return f
}

// A Scanner reads frames.
type Scanner struct {
	in  *bufio.Reader
	buf []byte
}

// NewScanner returns a scanner with a buffer of that size.
func NewScanner(r io.Reader, size int) *Scanner { return &Scanner{in: bufio.NewReaderSize(r, size)} }

// Next reads a frame of at most limit bytes, which is valid until the next call. Memory is allocated as bytes arrive,
// not as they are announced.
func (s *Scanner) Next(limit int) (Frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return Frame{}, err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > limit {
		return Frame{}, ErrTooLong
	}
	if cap(s.buf) > KeptBuffer {
		s.buf = nil
	}
	s.buf = s.buf[:0]
	for len(s.buf) < size {
		part := min(size-len(s.buf), max(len(s.buf), MaxChunk))
		s.buf = slices.Grow(s.buf, part)
		n, err := io.ReadFull(s.in, s.buf[len(s.buf):len(s.buf)+part])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			return Frame{}, io.ErrUnexpectedEOF
		}
	}
	return decode(s.buf)
}

// JSON encodes a value of this package.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("guest: " + err.Error()) // a type that cannot be encoded
	}
	return b
}
