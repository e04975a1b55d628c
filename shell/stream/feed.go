package stream

import (
	"io"
	"slices"
)

// What follows is for a command that hands its input to a process: the process
// reads from the kernel, which takes bytes before anybody wants them, so what
// it did not take must find its way back.

// Await blocks until at least one byte is buffered, and consumes nothing. It
// returns the error of a stream that has ended instead.
//
// It may be left waiting in its goroutine when another one uses the Reader: who
// needs bytes from the source then waits with it, and whoever comes first takes
// them. It returns when the source delivers, ends or gives up, and Release does
// not wait for that.
func (r *Reader) Await() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.more()
}

// Feed writes what is buffered now to w and consumes exactly what w took. With
// nothing buffered it does nothing. The error is that of w. Who reads meanwhile
// waits, so that nothing overtakes what w leaves.
func (r *Reader) Feed(w io.Writer) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.feeding {
		r.rest()
	}
	b := r.buf
	if len(b) == 0 {
		return 0, nil
	}
	r.buf, r.feeding = nil, true
	r.mu.Unlock()
	n, err := w.Write(b)
	r.mu.Lock()
	r.feeding = false
	r.changed.Broadcast()
	n = min(max(n, 0), len(b))
	if !r.gone {
		r.buf = join(b[n:], r.buf)
	}
	return n, err
}

// Push puts bytes before everything that is unread: they were read ahead on
// behalf of a process that did not take them. It does not keep b.
func (r *Reader) Push(b []byte) {
	if len(b) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.feeding {
		r.rest()
	}
	if !r.gone {
		r.buf = slices.Concat(b, r.buf)
		r.changed.Broadcast()
	}
}

// Empty reports whether it is known without waiting that nothing more comes.
// False says nothing.
func (r *Reader) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking || r.feeding || len(r.buf) > 0 {
		return false
	}
	if r.err != nil {
		return true
	}
	sized, ok := r.src.(interface{ Len() int })
	return ok && sized.Len() == 0
}

// Share prepares the Reader for commands that run at the same time and know
// nothing of each other: from now on every slice stays valid for good, at the
// price of a buffer for each read, and what [Reader.OnWait] was given is not
// called.
func (r *Reader) Share() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep, r.own, r.carry = true, nil, nil
}
