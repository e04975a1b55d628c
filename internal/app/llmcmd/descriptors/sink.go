package descriptors

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"hako/run/fault"
)

// A sink is an output of the session. Scripts write to it in the order in which they were spawned, then the model:
// the output of each stays in one piece.
type sink struct {
	w io.Writer

	mu     sync.Mutex // guards the fields below
	queue  []*script  // that may still write
	wait   map[*script]int
	change chan struct{} // closed when the queue changes; nil if nobody waits

	out sync.Mutex // held while writing; guards err
	err error      // the first error; later writes fail with it
}

func newSink(w io.Writer) *sink {
	if w == nil {
		w = io.Discard
	}
	return &sink{w: w, wait: map[*script]int{}}
}

// enter adds a script to the queue.
func (k *sink) enter(s *script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, s)
}

// leave removes a script from the queue.
func (k *sink) leave(s *script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = slices.DeleteFunc(k.queue, func(q *script) bool { return q == s })
	if k.change != nil {
		close(k.change)
		k.change = nil
	}
}

// waitTurn waits until s may write; nil is the model.
func (k *sink) waitTurn(ctx context.Context, s *script, w *waitPolicy) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.queue) > 0 && k.queue[0] != s {
		if k.change == nil {
			k.change = make(chan struct{})
		}
		change := k.change
		k.wait[s]++
		k.mu.Unlock()
		err := w.wait(ctx, change)
		k.mu.Lock()
		if k.wait[s]--; k.wait[s] == 0 {
			delete(k.wait, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns the script that may write now, or nil.
func (k *sink) first() *script {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		return nil
	}
	return k.queue[0]
}

// waitsFor returns the script that s waits for, or nil.
func (k *sink) waitsFor(s *script) *script {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wait[s] == 0 || len(k.queue) == 0 || k.queue[0] == s {
		return nil
	}
	return k.queue[0]
}

// write writes when it is the turn of s.
func (k *sink) write(ctx context.Context, s *script, b []byte, w *waitPolicy) (int, error) {
	if err := k.waitTurn(ctx, s, w); err != nil {
		return 0, err
	}
	k.out.Lock()
	defer k.out.Unlock()
	if k.err != nil {
		return 0, k.err
	}
	n, err := k.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	k.err = err
	return n, err
}

// append writes after everybody else.
func (k *sink) append(b []byte) {
	k.out.Lock()
	defer k.out.Unlock()
	if k.err == nil {
		_, k.err = k.w.Write(b)
	}
}

// flush flushes the writer and returns the first error.
func (k *sink) flush() error {
	k.out.Lock()
	defer k.out.Unlock()
	if f, ok := k.w.(interface{ Flush() error }); ok && k.err == nil {
		k.err = f.Flush()
	}
	return k.err
}

// countBytes counts what the model reads or writes itself, and enforces the limit of nested calls: scripts can
// move megabytes for free, a model cannot.
func (d *Table) countBytes(op string, fd int, count *int64, n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if limit := d.opts.Limits.NestedBytes; limit > 0 && *count+int64(n) > limit {
		e := fdFault(op, fd, fmt.Sprintf("it would be more than %s in all, the limit in nested calls", size(limit)),
			"have a script do it: spawn connects descriptors without a limit")
		e.Kind = fault.Exhausted
		return e
	}
	*count += int64(n)
	return nil
}
