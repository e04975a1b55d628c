package mcpserver

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An outputStore keeps long outputs, so that the rest can be read without running the command again. The oldest are
// dropped first.
type outputStore struct {
	limit int64 // bytes in all

	mu        sync.Mutex // guards the fields below
	bySandbox map[string]*sandboxOutputs
	size      int64
	order     []*storedOutput // by age, without dropped ones
}

// A sandboxOutputs holds the outputs of one sandbox.
type sandboxOutputs struct {
	last    int
	outputs []*storedOutput
}

// A storedOutput is one output. A dropped one is still known by its command: reading on must not run it again.
type storedOutput struct {
	box     string
	number  int
	command [sha256.Size]byte // zero after the command was run again
	stdout  outputCapture
	stderr  outputCapture
	exit    int
	dropped bool

	redacted int // redactions in both streams
}

// An outputCapture is the beginning of a stream.
type outputCapture struct {
	text  []byte
	total int64
}

func (r *storedOutput) size() int64 { return int64(len(r.stdout.text) + len(r.stderr.text)) }

// uri returns the address of the output as a resource.
func (r *storedOutput) uri() string {
	return "hako://sandbox/" + r.box + "/logs/" + strconv.Itoa(r.number)
}

// put stores an output with a new number.
func (s *outputStore) put(r *storedOutput, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySandbox == nil {
		s.bySandbox = map[string]*sandboxOutputs{}
	}
	b := s.bySandbox[r.box]
	if b == nil {
		b = &sandboxOutputs{}
		s.bySandbox[r.box] = b
	}
	b.last++
	r.number = b.last
	b.outputs = slices.DeleteFunc(append(b.outputs, r), func(old *storedOutput) bool {
		return old.dropped &&
			old.number <= r.number-rememberDropped
	})
	s.order = append(s.order, r)
	s.size += r.size()
	s.enforceLimits(b, most)
}

// rememberDropped is after how many further outputs a dropped one is forgotten entirely.
const rememberDropped = 256

// enforceLimits drops outputs until at most most are left of the sandbox, and at most limit bytes in all.
func (s *outputStore) enforceLimits(b *sandboxOutputs, most int) {
	full := slices.DeleteFunc(slices.Clone(b.outputs), func(r *storedOutput) bool { return r.dropped })
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
	if b := s.bySandbox[box]; b != nil {
		for _, r := range b.outputs {
			if !r.dropped {
				s.discard(r)
			}
		}
		delete(s.bySandbox, box)
	}
}

// find returns a copy of the latest output of a sandbox that fits.
func (s *outputStore) find(box string, fits func(*storedOutput) bool) (storedOutput, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bySandbox[box]
	if b == nil {
		return storedOutput{}, false
	}
	for _, r := range slices.Backward(b.outputs) {
		if fits(r) {
			return *r, true
		}
	}
	return storedOutput{}, false
}

func (s *outputStore) byCommand(box, command string) (storedOutput, bool) {
	sum := sha256.Sum256([]byte(command))
	return s.find(box, func(r *storedOutput) bool { return r.command == sum })
}

func (s *outputStore) byNumber(box, number string) (storedOutput, bool) {
	return s.find(box, func(r *storedOutput) bool { return strconv.Itoa(r.number) == number && !r.dropped })
}

// supersede makes outputs of a command readable by number only: the command now means its last run.
func (s *outputStore) supersede(box, command string) {
	sum := sha256.Sum256([]byte(command))
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bySandbox[box]
	if b == nil {
		return
	}
	b.outputs = slices.DeleteFunc(b.outputs, func(r *storedOutput) bool { return r.command == sum && r.dropped })
	for _, r := range b.outputs {
		if r.command == sum {
			r.command = [sha256.Size]byte{}
		}
	}
}

func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
