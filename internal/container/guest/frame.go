package guest

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
	opHello = iota + 1 // words: who, what it can do as JSON
	opError            // words: a fault as JSON; with the id of what it is about, or zero for the whole connection

	// To the guest.
	opExec     // n: how many words of the command; words: see order
	opStdin    // words: bytes
	opStdinEnd // there will be no more
	opSignal   // n: number
	opCancel   // nobody wants it any more
	opCall     // words: verb, what else it needs

	// From the guest.
	opStarted    // n: process number
	opStdout     // words: bytes
	opStderr     // words: bytes
	opExited     // words: the ending as JSON
	opAnswer     // words: depends on the verb
	opStdinTaken // n: bytes; so many more may be sent
	opStdinShut  // the command reads no more

	// To the guest again.
	opStdoutTaken // n: bytes; so many more may be sent
	opStderrTaken // n: bytes

	opBeyond // the first that means nothing
)

// How far a sender may be ahead of who takes its bytes, on each stream of each
// command. What waits is held in memory by who takes it: much outside, little
// inside.
const (
	outputWindow = 256 << 10
	stdinWindow  = 64 << 10
)

const (
	maxChunk    = 32 << 10 // bytes of a stream in one frame
	maxGreeting = 4 << 10  // a stranger's frame
	maxFrame    = 32 << 20 // an edit of a large file
	maxWords    = 1 << 16
	keptBuffer  = 256 << 10 // what a connection holds on to for the next frame
)

// A frame is one message: a length of four bytes, what it is, which request it
// is about, a number, and words. The words are bytes as the system has them and
// need not be UTF-8.
type frame struct {
	op    byte
	id, n uint64
	words [][]byte
}

var (
	errFrame   = errors.New("the message makes no sense")
	errTooLong = errors.New("the message is too long")
)

// appendTo adds the encoded frame to b.
func (f frame) appendTo(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, f.op)
	b = binary.AppendUvarint(b, f.id)
	b = binary.AppendUvarint(b, f.n)
	for _, w := range f.words {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// decode reads a frame without its length. Its words lie in b.
func decode(b []byte) (f frame, err error) {
	if len(b) == 0 {
		return f, errFrame
	}
	f.op, b = b[0], b[1:]
	if f.op == 0 || f.op >= opBeyond {
		return f, errFrame
	}
	for _, v := range []*uint64{&f.id, &f.n} {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			return f, errFrame
		}
		*v, b = x, b[n:]
	}
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) || len(f.words) == maxWords {
			return f, errFrame
		}
		f.words = append(f.words, b[n:n+int(size)])
		b = b[n+int(size):]
	}
	return f, nil
}

// word returns a word, or nil if there are not so many.
func (f frame) word(i int) []byte {
	if i < len(f.words) {
		return f.words[i]
	}
	return nil
}

// owned returns the frame with words of its own.
func (f frame) owned() frame {
	words := make([][]byte, len(f.words))
	for i, w := range f.words {
		words[i] = slices.Clone(w)
	}
	f.words = words
	return f
}

// A scanner reads frames.
type scanner struct {
	in  *bufio.Reader
	buf []byte
}

func newScanner(r io.Reader) *scanner { return &scanner{in: bufio.NewReaderSize(r, maxChunk)} }

// next reads a frame of at most limit bytes. It is good until the next one is
// read. Memory is taken as bytes come, not as they are announced.
func (s *scanner) next(limit int) (frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return frame{}, err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > limit {
		return frame{}, errTooLong
	}
	if cap(s.buf) > keptBuffer {
		s.buf = nil
	}
	s.buf = s.buf[:0]
	for len(s.buf) < size {
		part := min(size-len(s.buf), max(len(s.buf), maxChunk))
		s.buf = slices.Grow(s.buf, part)
		n, err := io.ReadFull(s.in, s.buf[len(s.buf):len(s.buf)+part])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			return frame{}, io.ErrUnexpectedEOF
		}
	}
	return decode(s.buf)
}

// asJSON encodes what is ours and can be encoded.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("guest: " + err.Error()) // a type of this package that is no JSON
	}
	return b
}
