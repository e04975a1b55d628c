package mcpserver

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A shelf keeps outputs that were too long for their answer, so that the rest
// can be read without running the command again. The oldest go first.
type shelf struct {
	limit int64 // bytes in all

	mu    sync.Mutex // guards what follows
	books map[string]*book
	size  int64
	order []*record // by age, without those that were dropped
}

// A book holds the outputs of one sandbox.
type book struct {
	last    int
	records []*record
}

// A record is one output. One that was dropped is still known by its command: it
// must not be run again by somebody who only wants to read on.
type record struct {
	box     string
	number  int
	command [sha256.Size]byte // zero once the command was run again
	stdout  kept
	stderr  kept
	exit    int
	dropped bool

	redacted int // places of both streams
}

// kept is what is kept of a stream: its beginning.
type kept struct {
	text  []byte
	total int64
}

func (r *record) size() int64 { return int64(len(r.stdout.text) + len(r.stderr.text)) }

// uri is the address of a record as a resource.
func (r *record) uri() string { return "hako://sandbox/" + r.box + "/logs/" + strconv.Itoa(r.number) }

// put keeps an output and gives it a number, and makes room for it.
func (s *shelf) put(r *record, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books == nil {
		s.books = map[string]*book{}
	}
	b := s.books[r.box]
	if b == nil {
		b = &book{}
		s.books[r.box] = b
	}
	b.last++
	r.number = b.last
	b.records = slices.DeleteFunc(append(b.records, r), func(old *record) bool { return old.dropped && old.number <= r.number-forgotten })
	s.order = append(s.order, r)
	s.size += r.size()
	s.thin(b, most)
}

// forgotten is after how many further ones a dropped output is not even known by
// its command any more.
const forgotten = 256

// thin drops outputs until there are no more than most in the book, and no more
// bytes than the limit on the shelf.
func (s *shelf) thin(b *book, most int) {
	full := slices.DeleteFunc(slices.Clone(b.records), func(r *record) bool { return r.dropped })
	for _, r := range full[:max(len(full)-most, 0)] {
		s.discard(r)
	}
	for s.size > s.limit && len(s.order) > 0 {
		s.discard(s.order[0])
	}
}

func (s *shelf) discard(r *record) {
	s.size -= r.size()
	r.stdout.text, r.stderr.text, r.dropped = nil, nil, true
	s.order = slices.DeleteFunc(s.order, func(o *record) bool { return o == r })
}

// drop removes the outputs of a sandbox.
func (s *shelf) drop(box string) {
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
func (s *shelf) find(box string, fits func(*record) bool) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[box]
	if b == nil {
		return record{}, false
	}
	for _, r := range slices.Backward(b.records) {
		if fits(r) {
			return *r, true
		}
	}
	return record{}, false
}

// byCommand finds the output of a command.
func (s *shelf) byCommand(box, command string) (record, bool) {
	sum := sha256.Sum256([]byte(command))
	return s.find(box, func(r *record) bool { return r.command == sum })
}

// byNumber finds an output by its number.
func (s *shelf) byNumber(box, number string) (record, bool) {
	return s.find(box, func(r *record) bool { return strconv.Itoa(r.number) == number && !r.dropped })
}

// supersede makes outputs of a command readable by their number alone: who reads
// on by the command means its last run.
func (s *shelf) supersede(box, command string) {
	sum := sha256.Sum256([]byte(command))
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[box]
	if b == nil {
		return
	}
	b.records = slices.DeleteFunc(b.records, func(r *record) bool { return r.command == sum && r.dropped })
	for _, r := range b.records {
		if r.command == sum {
			r.command = [sha256.Size]byte{}
		}
	}
}

// validUTF8 makes valid UTF-8 of b.
func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
