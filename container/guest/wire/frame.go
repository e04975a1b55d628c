// Package wire is what a guest and its clients say to each other: frames, how
// far one side may be ahead of the other, greetings, faults and orders.
//
// Deliberately not inside: who listens, who calls, and what is done about it.
//
// The one rule to keep: greeting and error are the same in every version, so that
// two sides of different ones can still tell each other why they part.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// What the two sides say to each other. Greeting and error stay as they are in
// every version, so that a stranger can be told why it is not understood.
const (
	OpHello = iota + 1 // words: who, what it can do as JSON
	OpError            // words: a fault as JSON; with the id of what it is about, or zero for the whole connection

	// To the guest.
	OpExec     // n: how many words of the command; words: see order
	OpStdin    // words: bytes
	OpStdinEnd // there will be no more
	OpCancel   // nobody wants it any more
	OpCall     // words: verb, what else it needs

	// From the guest.
	OpStdout     // words: bytes
	OpStderr     // words: bytes
	OpExited     // words: the ending as JSON
	OpAnswer     // words: depends on the verb
	OpStdinTaken // n: bytes; so many more may be sent
	OpStdinShut  // the command reads no more

	// To the guest again.
	OpStdoutTaken // n: bytes; so many more may be sent
	OpStderrTaken // n: bytes

	opEnd // the first that means nothing
)

// How far a sender may be ahead of who takes its bytes, on each stream of each command. What waits is held in memory
// by who takes it: much outside, little inside.
const (
	OutputWindow = 256 << 10
	StdinWindow  = 64 << 10
)

// How much one message may hold.
const (
	MaxChunk    = 32 << 10 // bytes of a stream in one frame
	MaxGreeting = 4 << 10  // a stranger's frame
	MaxFrame    = 32 << 20 // an edit of a large file
	maxWords    = 1 << 16
	KeptBuffer  = 256 << 10 // what a connection holds on to for the next frame
)

// A Frame is one message: a length of four bytes, what it is, which request it is about, a number, and words. The
// words are bytes as the system has them and need not be UTF-8.
type Frame struct {
	Op    byte
	ID, N uint64
	Words [][]byte
}

// What is wrong with bytes that are no frame.
var (
	ErrFrame   = errors.New("the message makes no sense")
	ErrTooLong = errors.New("the message is too long")
)

// AppendTo adds the encoded frame to b.
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

// decode reads a frame without its length. Its words lie in b.
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

// Word returns a word, or nil if there are not so many.
func (f Frame) Word(i int) []byte {
	if i < len(f.Words) {
		return f.Words[i]
	}
	return nil
}

// size is how many bytes the words hold.
func (f Frame) size() (n int) {
	for _, w := range f.Words {
		n += len(w)
	}
	return n
}

// Owned returns the frame with words of its own.
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

// NewScanner returns one that reads from r, about so many bytes at a time.
func NewScanner(r io.Reader, size int) *Scanner { return &Scanner{in: bufio.NewReaderSize(r, size)} }

// Next reads a frame of at most limit bytes. It is good until the next one is
// read. Memory is taken as bytes come, not as they are announced.
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

// JSON encodes what is ours and can be encoded.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("guest: " + err.Error()) // a type of this package that is no JSON
	}
	return b
}
