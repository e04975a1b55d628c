package mcpserver

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A outputStore keeps outputs that were too long for their answer, so that the rest
// can be read without running the command again. The oldest go first.
type outputStore struct {
	limit int64 // bytes in all

	mu    sync.Mutex // guards what follows
	books map[string]*sandboxOutputs
	size  int64
	order []*storedOutput // by age, without those that were dropped
}

// A sandboxOutputs holds the outputs of one sandbox.
type sandboxOutputs struct {
	last    int
	records []*storedOutput
}

// A storedOutput is one output. One that was dropped is still known by its command: it
// must not be run again by somebody who only wants to read on.
type storedOutput struct {
	box     string
	number  int
	command [sha256.Size]byte // zero once the command was run again
	stdout  outputCapture
	stderr  outputCapture
	exit    int
	dropped bool

	redacted int // places of both streams
}

// outputCapture is what is kept of a stream: its beginning.
type outputCapture struct {
	text  []byte
	total int64
}

func (r *storedOutput) size() int64 { return int64(len(r.stdout.text) + len(r.stderr.text)) }

// uri is the address of a record as a resource.
func (r *storedOutput) uri() string {
	return "hako://sandbox/" + r.box + "/logs/" + strconv.Itoa(r.number)
}

// put keeps an output and gives it a number, and makes room for it.
func (s *outputStore) put(r *storedOutput, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books == nil {
		s.books = map[string]*sandboxOutputs{}
	}
	b := s.books[r.box]
	if b == nil {
		b = &sandboxOutputs{}
		s.books[r.box] = b
	}
	b.last++
	r.number = b.last
	b.records = slices.DeleteFunc(append(b.records, r), func(old *storedOutput) bool {
		return old.dropped &&
			old.number <= r.number-forgotten
	})
	s.order = append(s.order, r)
	s.size += r.size()
	s.thin(b, most)
}

// forgotten is after how many further ones a dropped output is not even known by
// its command any more.
const forgotten = 256

// thin drops outputs until there are no more than most in the book, and no more
// bytes than the limit on the shelf.
func (s *outputStore) thin(b *sandboxOutputs, most int) {
	full := slices.DeleteFunc(slices.Clone(b.records), func(r *storedOutput) bool { return r.dropped })
	for _, r := range full[:max(len(full)-most, 0)] {
		s.discard(r)
	}
	for s.size > s.limit && len(s.order) > 0 {
		s.discard(s.order[0])
	}
}

func (s *outputStore) discard(r *storedOutput) {
	s.size -= r.size()
	r.stdout.text, r.stderr.text, r.dropped = nil, nil, true
	s.order = slices.DeleteFunc(s.order, func(o *storedOutput) bool { return o == r })
}

// drop removes the outputs of a sandbox.
func (s *outputStore) drop(box string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[box]; b != nil {
		for _, r := range b.records {
			if !r.dropped {
				s.discard(r)
			}
		}
		delete(s.books, box)
	}
}

// find returns a copy of the latest record of a sandbox that fits.
func (s *outputStore) find(box string, fits func(*storedOutput) bool) (storedOutput, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[box]
	if b == nil {
		return storedOutput{}, false
	}
	for _, r := range slices.Backward(b.records) {
		if fits(r) {
			return *r, true
		}
	}
	return storedOutput{}, false
}

// byCommand finds the output of a command.
func (s *outputStore) byCommand(box, command string) (storedOutput, bool) {
	sum := sha256.Sum256([]byte(command))
	return s.find(box, func(r *storedOutput) bool { return r.command == sum })
}

// byNumber finds an output by its number.
func (s *outputStore) byNumber(box, number string) (storedOutput, bool) {
	return s.find(box, func(r *storedOutput) bool { return strconv.Itoa(r.number) == number && !r.dropped })
}

// supersede makes outputs of a command readable by their number alone: who reads
// on by the command means its last run.
func (s *outputStore) supersede(box, command string) {
	sum := sha256.Sum256([]byte(command))
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[box]
	if b == nil {
		return
	}
	b.records = slices.DeleteFunc(b.records, func(r *storedOutput) bool { return r.command == sum && r.dropped })
	for _, r := range b.records {
		if r.command == sum {
			r.command = [sha256.Size]byte{}
		}
	}
}

// validUTF8 makes valid UTF-8 of b.
func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
