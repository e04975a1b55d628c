// Package stream moves bytes between the commands of a script without copying
// them through the kernel: a buffered reader that belongs to a descriptor, a
// buffered writer that belongs to a command, and a pipe that hands whole
// buffers from one to the other.
//
// It knows nothing of files, shells or limits. The one rule to keep: a slice
// handed out by a Reader is valid until the next call on that Reader.
package stream

import (
	"errors"
	"sync"
)

// Size is the length of the buffers that are handed around.
const Size = 128 << 10

// ErrPipe is what a writer gets when nobody reads any more.
var ErrPipe = errors.New("broken pipe")

var pool = sync.Pool{New: func() any { b := make([]byte, 0, Size); return &b }}

// Get returns an empty buffer with a capacity of Size.
func Get() []byte { return (*pool.Get().(*[]byte))[:0] }

// Put gives a buffer back. Buffers of other sizes are left to the collector.
func Put(b []byte) {
	if cap(b) == Size {
		b = b[:0]
		pool.Put(&b)
	}
}
