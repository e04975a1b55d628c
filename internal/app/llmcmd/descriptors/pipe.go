package descriptors

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"hako/run/fault"
	"hako/shell/stream"
)

// pipeCapacity is the capacity of a pipe.
const pipeCapacity = 64 << 10

// errGone is returned to a reader whose own end was closed.
var errGone = errors.New("closed while it was read")

// A pipe carries bytes between a script and another script or the model. At least one end belongs to a script.
type pipe struct {
	from, to end // owners of the ends; guarded by the table

	mu             sync.Mutex // guards the fields below
	data           bytes.Buffer
	writeClosed    bool // the writing end is closed
	readClosed     bool // the reading end is closed
	drain          bool // discard what is written instead of failing
	keepUnreadData bool // or keep it for the end of the session
	kept           []byte
	keptOverflow   int64         // bytes that exceeded the room for kept
	readers        int           // waiting
	writers        int           // waiting
	change         chan struct{} // closed at the next change; nil if nobody waits
}

// An end is the owner of an end of a pipe: a descriptor, a script, or nobody.
type end struct {
	fd     int
	script *script
}

// changed wakes all waiters. The caller holds mu.
func (p *pipe) changed() {
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}

// await waits for a change. The caller holds mu before and after.
func (p *pipe) await(ctx context.Context, waiting *int, w *waitPolicy) error {
	if p.change == nil {
		p.change = make(chan struct{})
	}
	change := p.change
	*waiting++
	p.mu.Unlock()
	err := w.wait(ctx, change)
	p.mu.Lock()
	*waiting--
	return err
}

func (p *pipe) read(ctx context.Context, b []byte, w *waitPolicy) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readClosed:
			return 0, errGone
		case p.data.Len() > 0:
			n, _ := p.data.Read(b)
			p.freeMemory()
			p.changed()
			return n, nil
		case p.writeClosed:
			return 0, io.EOF
		}
		if err := p.await(ctx, &p.readers, w); err != nil {
			return 0, err
		}
	}
}

// write writes b piece by piece as there is room.
func (p *pipe) write(ctx context.Context, b []byte, w *waitPolicy) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		if err := p.space(ctx, w); err != nil {
			return n, err
		}
		m := len(b)
		if p.drain {
			p.keep(b)
		} else {
			m = min(m, pipeCapacity-p.data.Len())
			p.data.Write(b[:m])
		}
		p.changed()
		n, b = n+m, b[m:]
	}
	return n, nil
}

// send writes all of s or nothing.
func (p *pipe) send(ctx context.Context, s string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.space(ctx, nil); err != nil {
		return err
	}
	if !p.drain {
		p.data.WriteString(s)
	}
	p.changed()
	return nil
}

// space waits until there is room. The caller holds mu.
func (p *pipe) space(ctx context.Context, w *waitPolicy) error {
	for {
		switch {
		case p.writeClosed, p.readClosed && !p.drain:
			return stream.ErrPipe
		case p.drain, p.data.Len() < pipeCapacity:
			return nil
		}
		if err := p.await(ctx, &p.writers, w); err != nil {
			return err
		}
	}
}

// forceWrite writes a message even if there is no room.
func (p *pipe) forceWrite(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.writeClosed:
	case p.readClosed:
		p.keep([]byte(s))
	default:
		p.data.WriteString(s)
		p.changed()
	}
}

// keepUnread is endReading for unread standard error: it is kept, and so is what follows. head was read before.
func (p *pipe) keepUnread(head []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readClosed {
		return
	}
	p.readClosed, p.drain, p.keepUnreadData = true, true, true
	p.keep(head)
	p.keep(p.data.Bytes())
	p.data = bytes.Buffer{}
	p.changed()
}

// keep keeps b if keeps is set. The caller holds mu.
func (p *pipe) keep(b []byte) {
	if !p.keepUnreadData {
		return
	}
	n := min(len(b), pipeCapacity-len(p.kept))
	p.kept = append(p.kept, b[:n]...)
	p.keptOverflow += int64(len(b) - n)
}

// takeKept returns what was kept, once, and how much was lost.
func (p *pipe) takeKept() (kept []byte, lost int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, lost = p.kept, p.keptOverflow
	p.kept, p.keptOverflow = nil, 0
	return kept, lost
}

func (p *pipe) endWriting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeClosed = true
	p.freeMemory()
	p.changed()
}

// endReading makes writers fail, or with drain set discards what they write.
func (p *pipe) endReading(drain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readClosed, p.drain = true, drain
	p.data = bytes.Buffer{}
	p.changed()
}

// freeMemory releases memory. The caller holds mu.
func (p *pipe) freeMemory() {
	if p.writeClosed && p.data.Len() == 0 {
		p.data = bytes.Buffer{}
	}
}

// waiting returns the number of unread bytes.
func (p *pipe) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data.Len()
}

// readerWaits reports whether a reader waits for a writer.
func (p *pipe) readerWaits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readers > 0 && p.data.Len() == 0 && !p.writeClosed && !p.readClosed
}

// writerWaits reports whether a writer waits for a reader.
func (p *pipe) writerWaits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writers > 0 && p.data.Len() >= pipeCapacity && !p.readClosed
}

// waitPolicy bounds how long a script waits for others. Nil is for the model: until its context ends.
type waitPolicy struct {
	pid   int
	pause func() (resume func()) // nil means that the clock runs on
	most  time.Duration          // zero means no limit
}

// wait waits until the channel is closed.
func (w *waitPolicy) wait(ctx context.Context, ready <-chan struct{}) error {
	var late <-chan time.Time
	if w != nil {
		defer w.stopClock()()
		if w.most > 0 {
			t := time.NewTimer(w.most)
			defer t.Stop()
			late = t.C
		}
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return &fault.Error{Kind: fault.Timeout, Op: "stop script", Subject: scriptName(w.pid),
			Why: "nobody fed it or read from it for " + w.most.String(), Hint: "write to its input, or read its output, sooner"}
	}
}

// stopClock stops the clock of the script.
func (w *waitPolicy) stopClock() (resume func()) {
	if w.pause == nil {
		return func() {}
	}
	return w.pause()
}
