package vfs

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"hako/internal/fault"
)

const (
	firstInput   = 3
	firstDynamic = 10
)

// A Descriptor is one end of a stream: a file, a pipe, the terminal.
type Descriptor struct {
	Name  string
	In    io.Reader // nil: not open for reading
	Out   io.Writer // nil: not open for writing
	Close io.Closer // nil: nothing to close
}

// A Table gives numbers to descriptors, as models know them from other
// systems: 0, 1 and 2 for the standard streams, inputs from 3, all others from
// 10. A number is never used again, so that a model that confuses two files
// gets an error and not the wrong file. It is safe for concurrent use.
type Table struct {
	mu             sync.Mutex
	open           map[int]Descriptor
	closed         map[int]bool
	input, dynamic int
}

// NewTable returns a table with the standard streams in it.
func NewTable(stdin io.Reader, stdout, stderr io.Writer) *Table {
	return &Table{
		open: map[int]Descriptor{
			0: {Name: "stdin", In: stdin}, 1: {Name: "stdout", Out: stdout}, 2: {Name: "stderr", Out: stderr},
		},
		closed: map[int]bool{}, input: firstInput, dynamic: firstDynamic,
	}
}

// Input adds an input and returns its number. Inputs that find no room below
// 10 are numbered along with the others.
func (t *Table) Input(d Descriptor) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.input < firstDynamic {
		t.input++
		t.open[t.input-1] = d
		return t.input - 1
	}
	return t.add(d)
}

// Add adds a descriptor that was opened on the way and returns its number.
func (t *Table) Add(d Descriptor) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(d)
}

func (t *Table) add(d Descriptor) int {
	t.dynamic++
	t.open[t.dynamic-1] = d
	return t.dynamic - 1
}

// Get returns an open descriptor.
func (t *Table) Get(fd int) (Descriptor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.get(fd)
}

func (t *Table) get(fd int) (Descriptor, error) {
	if d, ok := t.open[fd]; ok {
		return d, nil
	}
	if t.closed[fd] {
		return Descriptor{}, fdFault(fd, "already closed", "open it again: it will get a new number")
	}
	return Descriptor{}, fdFault(fd, "invalid file descriptor", "use a number that open or spawn returned")
}

// Read reads from a descriptor.
func (t *Table) Read(fd int, p []byte) (int, error) {
	d, err := t.Get(fd)
	if err == nil && d.In == nil {
		err = fdFault(fd, "not open for reading", "")
	}
	if err != nil {
		return 0, err
	}
	return d.In.Read(p)
}

// Write writes to a descriptor.
func (t *Table) Write(fd int, p []byte) (int, error) {
	d, err := t.Get(fd)
	if err == nil && d.Out == nil {
		err = fdFault(fd, "not open for writing", "")
	}
	if err != nil {
		return 0, err
	}
	return d.Out.Write(p)
}

// Take removes a descriptor from the table without closing it: it belongs to
// the caller from now on, and its number counts as closed.
func (t *Table) Take(fd int) (Descriptor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.get(fd)
	if err == nil {
		delete(t.open, fd)
		t.closed[fd] = true
	}
	return d, err
}

// Close closes a descriptor. Its number stays closed for good.
func (t *Table) Close(fd int) error {
	d, err := t.Take(fd)
	if err != nil || d.Close == nil {
		return err
	}
	return d.Close.Close()
}

// CloseAll closes everything that is still open.
func (t *Table) CloseAll() error {
	var errs []error
	for _, fd := range t.Open() {
		errs = append(errs, t.Close(fd))
	}
	return errors.Join(errs...)
}

// Open returns the numbers that are open, in order.
func (t *Table) Open() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.open))
}

func fdFault(fd int, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "fd", Subject: strconv.Itoa(fd), Why: why, Hint: hint}
}
