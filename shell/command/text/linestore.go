package text

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"hako/quota"
	"hako/shell"
)

// Slot and position of a line are packed into 32 bits, so that an entry takes 16 bytes and
// has no pointer for the garbage collector to follow.
const (
	slotBits  = 22
	slotSize  = 1 << slotBits
	slotMask  = slotSize - 1
	maxSlots  = 1 << (32 - slotBits)
	firstRoom = 64 << 10
)

var errTooLarge = errors.New("the input is over 4 GB")

// A lineEntry is one line: eight bytes that decide most comparisons, and the position of
// the line. Lines are stored in the order of the input, so off also has that order.
type lineEntry struct {
	prefix   uint64
	off, len uint32
}

// A lineStore holds the lines of its inputs in a few large blocks.
type lineStore struct {
	limiter *quota.Limiter
	end     byte
	slots   [][]byte // slots[i] begins at offset i*slotSize; a long block takes several
	parts   []storePart
	held    int64
	lines   int
	bare    bool // a last line without terminator does not get one
}

// A storePart is one block of whole lines.
type storePart struct {
	data  []byte
	slot  int
	first int // number of its first line
}

// loadInput reads an input to its end, unbuffered if it is a file.
func (s *lineStore) loadInput(in shell.Input) error {
	if in.File != nil {
		return s.load(in.File)
	}
	return s.load(in)
}

// load reads src to its end.
func (s *lineStore) load(src io.Reader) error {
	block, err := s.alloc(firstRoom << min(6, len(s.parts)))
	if err != nil {
		return err
	}
	for {
		if len(block) == cap(block) {
			if block, err = s.next(block); err != nil {
				return err
			}
		}
		n, err := src.Read(block[len(block):cap(block)])
		block = block[:len(block)+n]
		if err == io.EOF {
			return s.last(block)
		}
		if err != nil {
			return err
		}
	}
}

func (s *lineStore) alloc(n int) ([]byte, error) {
	if err := s.limiter.Hold(int64(n)); err != nil {
		return nil, err
	}
	s.held += int64(n)
	return make([]byte, 0, n), nil
}

// next stores a full block and returns one that begins with its incomplete last line.
func (s *lineStore) next(block []byte) ([]byte, error) {
	cut := bytes.LastIndexByte(block, s.end) + 1
	room := min(slotSize, 2*cap(block))
	if rest := len(block) - cut; room < 2*rest {
		room = 2 * rest
	}
	fresh, err := s.alloc(room)
	if err != nil {
		return nil, err
	}
	fresh = append(fresh, block[cut:]...)
	if cut == 0 {
		s.release(cap(block))
		return fresh, nil
	}
	return fresh, s.keep(block[:cut])
}

func (s *lineStore) release(n int) {
	s.limiter.Hold(-int64(n))
	s.held -= int64(n)
}

// last stores the last block of an input and terminates its last line.
func (s *lineStore) last(block []byte) error {
	if len(block) == 0 {
		s.release(cap(block))
		return nil
	}
	if !s.bare && block[len(block)-1] != s.end {
		if len(block) == cap(block) {
			fresh, err := s.alloc(cap(block) + 1)
			if err != nil {
				return err
			}
			s.release(cap(block))
			block = append(fresh, block...)
		}
		block = append(block, s.end)
	}
	return s.keep(block)
}

func (s *lineStore) keep(block []byte) error {
	s.parts = append(s.parts, storePart{block, len(s.slots), s.lines})
	s.lines += bytes.Count(block, []byte{s.end})
	if block[len(block)-1] != s.end {
		s.lines++
	}
	for len(block) > 0 {
		s.slots = append(s.slots, block)
		block = block[min(slotSize, len(block)):]
	}
	if len(s.slots) > maxSlots {
		return errTooLarge
	}
	return nil
}

// index returns the lines of all blocks.
func (s *lineStore) index(w *sortWorkers) ([]lineEntry, error) {
	n := int64(s.lines) * 16
	if err := s.limiter.Hold(n); err != nil {
		return nil, err
	}
	s.held += n
	entries := make([]lineEntry, s.lines)
	for _, p := range s.parts {
		w.fork(func() { p.index(entries[p.first:], s.end) })
	}
	w.wait()
	return entries, nil
}

func (p storePart) index(entries []lineEntry, end byte) {
	base := uint32(p.slot) << slotBits
	pos, data := 0, p.data
	for i := 0; pos < len(data); i++ {
		n := bytes.IndexByte(data[pos:], end)
		if n < 0 {
			n = len(data) - pos
		}
		entries[i] = lineEntry{prefixAt(data[pos:pos+n], 0), base + uint32(pos), uint32(n)}
		pos += n + 1
	}
}

func (s *lineStore) line(e lineEntry) []byte {
	return s.slots[e.off>>slotBits][e.off&slotMask:][:e.len]
}

// withEnd returns a line with its terminator, if it has one.
func (s *lineStore) withEnd(e lineEntry) []byte {
	b := s.slots[e.off>>slotBits][e.off&slotMask:]
	return b[:min(int(e.len)+1, len(b))]
}

func (s *lineStore) free() {
	s.limiter.Hold(-s.held)
	s.held, s.slots, s.parts = 0, nil, nil
}

// prefixAt returns the eight bytes from depth on as an integer that compares like the
// text. Missing bytes are zero.
func prefixAt(b []byte, depth int) uint64 {
	if len(b)-depth >= 8 {
		return binary.BigEndian.Uint64(b[depth:])
	}
	var v uint64
	for i := depth; i < len(b); i++ {
		v |= uint64(b[i]) << (56 - 8*(i-depth))
	}
	return v
}
