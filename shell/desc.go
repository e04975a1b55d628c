package shell

import (
	"io"
	"sync"
	"sync/atomic"

	"hako/shell/stream"
	"hako/shell/vfs"
)

// A desc is an open file description: what a descriptor number stands for.
// Several numbers and several subshells may share one; the last to let go of it
// closes it.
type desc struct {
	r        *stream.Reader // nil: not open for reading
	w        io.Writer      // nil: not open for writing; several goroutines may use it
	file     *vfs.File      // what r reads, if it is a regular file and nothing else
	close    func() error   // nil: nothing to do
	borrowed bool           // the reader belongs to somebody else
	live     bool           // somebody may be waiting for an answer: flush before reading on
	refs     atomic.Int32
}

func (d *desc) hold() *desc {
	if d != nil {
		d.refs.Add(1)
	}
	return d
}

func (d *desc) release() error {
	if d == nil || d.refs.Add(-1) > 0 {
		return nil
	}
	if d.r != nil && !d.borrowed {
		d.r.Release()
	}
	if d.close != nil {
		return d.close()
	}
	return nil
}

// locked lets commands that run at the same time write to what a caller gave.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// maxFD is the highest descriptor number a script may use.
const maxFD = 255

// fdTable is the descriptors of one shell process.
type fdTable []*desc

func (t fdTable) get(n int) *desc {
	if n < 0 || n >= len(t) {
		return nil
	}
	return t[n]
}

// set puts d, which the table now holds, at n and lets go of what was there. A
// number that no script may use is left alone: the table must not grow with a
// number that a script made up.
func (t *fdTable) set(n int, d *desc) {
	if n < 0 || n > maxFD {
		_ = d.release()
		return
	}
	for len(*t) <= n {
		*t = append(*t, nil)
	}
	old := (*t)[n]
	(*t)[n] = d
	_ = old.release()
}

// share returns a table for a subshell, which holds everything too.
func (t fdTable) share() fdTable {
	c := make(fdTable, len(t), len(t)+2)
	for i, d := range t {
		c[i] = d.hold()
	}
	return c
}

func (t fdTable) drop() {
	for i, d := range t {
		t[i] = nil
		_ = d.release()
	}
}

// errTooMany says that there is no number left, in the words of the C library.
var errTooMany error = libraryWords("Too many open files")

type libraryWords string

func (w libraryWords) Error() string { return string(w) }

// free returns the lowest unused number from 10 up.
func (t fdTable) free() (int, error) {
	for n := 10; n <= maxFD; n++ {
		if t.get(n) == nil {
			return n, nil
		}
	}
	return 0, errTooMany
}

// maxOpen is how many files the redirections of a session have open at the same
// time, all its subshells and jobs together: each may be a descriptor of the
// whole process.
const maxOpen = 512

// An openCount counts them.
type openCount struct{ n atomic.Int32 }

func (c *openCount) take() error {
	if c.n.Add(1) > maxOpen {
		c.n.Add(-1)
		return errTooMany
	}
	return nil
}

func (c *openCount) back() { c.n.Add(-1) }
