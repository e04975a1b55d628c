package descriptors

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"hako/run/fault"
)

// A sink is an output of the session. Scripts that write to it take turns in
// the order in which they were spawned, and the model comes after them: what
// each of them writes stays in one piece.
type sink struct {
	w io.Writer

	mu     sync.Mutex // guards what follows
	queue  []*script  // that may still write
	wait   map[*script]int
	change chan struct{} // closed when the queue changes; nil if nobody waits

	out sync.Mutex // held while writing; guards err
	err error      // the first; nothing is written after it
}

func newSink(w io.Writer) *sink {
	if w == nil {
		w = io.Discard
	}
	return &sink{w: w, wait: map[*script]int{}}
}

// enter puts a script at the end of the queue.
func (k *sink) enter(s *script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, s)
}

// leave takes a script out of the queue.
func (k *sink) leave(s *script) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = slices.DeleteFunc(k.queue, func(q *script) bool { return q == s })
	if k.change != nil {
		close(k.change)
		k.change = nil
	}
}

// turn waits until it is the turn of s; nil is the model.
func (k *sink) turn(ctx context.Context, s *script, w *patience) error {
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

// first returns the script whose turn it is, nil if none wants to write.
func (k *sink) first() *script {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		return nil
	}
	return k.queue[0]
}

// before returns the script that s waits for, nil if it waits for none.
func (k *sink) before(s *script) *script {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wait[s] == 0 || len(k.queue) == 0 || k.queue[0] == s {
		return nil
	}
	return k.queue[0]
}

// write writes when it is the turn of s. It fails for good once it has failed.
func (k *sink) write(ctx context.Context, s *script, b []byte, w *patience) (int, error) {
	if err := k.turn(ctx, s, w); err != nil {
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

// append writes after everybody else. What cannot be written is noted as any
// other write's failure.
func (k *sink) append(b []byte) {
	k.out.Lock()
	defer k.out.Unlock()
	if k.err == nil {
		_, k.err = k.w.Write(b)
	}
}

// flush passes on what the writer behind it holds back, and returns the first
// error there was.
func (k *sink) flush() error {
	k.out.Lock()
	defer k.out.Unlock()
	if f, ok := k.w.(interface{ Flush() error }); ok && k.err == nil {
		k.err = f.Flush()
	}
	return k.err
}

// allowed counts what the model reads or writes itself, and refuses what is more
// than it may in a nested call. A model that handles megabytes itself pays for
// each of them; scripts do it for nothing.
func (d *Table) allowed(op string, fd int, count *int64, n int) error {
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
