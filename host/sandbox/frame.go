package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
)

// Operations of the protocol with the helper.
const (
	opPlan    = iota + 1 // words: the plan as JSON
	opReady              // words: the report as JSON; with files: root and temporary directory
	opBroken             // words: the step, the reason
	opStart              // words: path, directory, arguments, environment; n: number of arguments; with three files
	opStarted            // id, n: PID
	opFailed             // id, n: error number
	opExited             // id, n: wait status
	opKill               // id: of a program, with its group
	opSweep              // all processes
	opSwept
)

// A frame is one message. Its words need not be UTF-8.
type frame struct {
	op    byte
	id, n int64
	words []string
}

// maxFrame is larger than any command line.
const maxFrame = 8 << 20

var errFrame = errors.New("the message is invalid")

func (f frame) encode() []byte {
	b := make([]byte, 4, 64)
	b = append(b, f.op)
	b = binary.AppendVarint(b, f.id)
	b = binary.AppendVarint(b, f.n)
	for _, w := range f.words {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func decode(b []byte) (f frame, err error) {
	if len(b) == 0 {
		return f, errFrame
	}
	f.op, b = b[0], b[1:]
	for _, v := range []*int64{&f.id, &f.n} {
		x, n := binary.Varint(b)
		if n <= 0 {
			return f, errFrame
		}
		*v, b = x, b[n:]
	}
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return f, errFrame
		}
		f.words = append(f.words, string(b[n:n+int(size)]))
		b = b[n+int(size):]
	}
	return f, nil
}

func readFrame(r io.Reader) (frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return frame{}, errFrame
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return frame{}, err
	}
	return decode(b)
}
