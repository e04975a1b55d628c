package server

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"hako/container/guest/procgroup"
	"hako/container/guest/wire"
)

const (
	// patience is how long a command gets to end by itself.
	patience = 200 * time.Millisecond
	// drained is how long after the end of a command its leftovers may still add output.
	drained = 100 * time.Millisecond
	// secondLook is when leftovers of a killed command are checked again.
	secondLook = time.Second
)

// An outputPump forwards the output of one stream.
type outputPump struct {
	from  *os.File
	room  *wire.Window   // flow control; nil means none
	pass  func(p []byte) // must not retain p
	large *buffers       // nil means none
	more  bool           // the last read filled the buffer
}

// ownBuffer is small, because most commands wait most of the time.
const ownBuffer = 2 << 10

// buffers are a few large buffers for pumps with much output. A pump that gets none uses its own, so that nobody
// waits for one that a stalled client holds.
type buffers struct{ free chan []byte }

const fewBuffers = 16

func newBuffers() *buffers {
	b := &buffers{free: make(chan []byte, fewBuffers)}
	for range fewBuffers {
		b.free <- nil // allocated on first use
	}
	return b
}

// lend returns a large buffer, or nil.
func (b *buffers) lend() []byte {
	select {
	case buf := <-b.free:
		if buf == nil {
			buf = make([]byte, wire.MaxChunk)
		}
		return buf
	default:
		return nil
	}
}

// run forwards until the end of the stream or, after last, until the output of the program itself is forwarded.
func (t *outputPump) run() {
	own := make([]byte, ownBuffer)
	owed := -1 // remaining bytes to forward; negative means unlimited
	for owed != 0 {
		got, err := t.once(own, owed)
		if owed > 0 {
			owed -= got
		}
		switch {
		case errors.Is(err, errUnwanted):
			go discard(t.from)
			return
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && owed < 0:
			owed = procgroup.Pending(t.from)
			t.from.SetReadDeadline(time.Time{})
		default:
			t.from.Close()
			return
		}
	}
	go discard(t.from)
}

// errUnwanted means that nobody wants the output.
var errUnwanted = errors.New("nobody wants it")

// once forwards one piece. A large buffer is borrowed only if there is enough data to fill it and room to forward it,
// so it is never held while waiting.
func (t *outputPump) once(own []byte, owed int) (int, error) {
	most := len(own)
	if t.large != nil && t.more && procgroup.Pending(t.from) > most {
		most = wire.MaxChunk
	}
	n := t.want(most, owed)
	if n == 0 {
		return 0, errUnwanted
	}
	buf := own[:min(n, len(own))]
	if n > len(own) {
		if lent := t.large.lend(); lent != nil {
			defer func() { t.large.free <- lent }()
			buf = lent[:n]
		}
	}
	got, err := t.from.Read(buf)
	t.more = got == len(buf)
	if t.room != nil {
		t.room.Give(n - got)
	}
	if got > 0 {
		t.pass(buf[:got])
	}
	return got, err
}

// want returns how many bytes to read; zero means that nobody wants them.
func (t *outputPump) want(n, owed int) int {
	if owed > 0 {
		n = min(n, owed)
	}
	if t.room != nil {
		n = t.room.Take(n)
	}
	return n
}

// last is called when the program has ended.
func (t *outputPump) last() { t.from.SetReadDeadline(time.Now().Add(drained)) }

// discard reads unwanted output: a leftover server must not block or break because of its output.
func discard(f *os.File) {
	f.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, f)
	f.Close()
}

// supervise runs a program to its end and the end of its output. It ends it on timeout, which it reports, or when
// stop is closed.
func supervise(p *procgroup.Process, timeout time.Duration, stop <-chan struct{}, taps ...*outputPump) (timedOut bool) {
	var draining sync.WaitGroup
	for _, t := range taps {
		draining.Go(t.run)
	}
	timedOut = await(p, timeout, stop)
	for _, t := range taps {
		t.last()
	}
	draining.Wait()
	return timedOut
}

// await waits for the end of a program or ends it. Leftovers of a program that ended by itself get the rest of its
// time; those of a killed one are killed.
func await(p *procgroup.Process, timeout time.Duration, stop <-chan struct{}) (timedOut bool) {
	var late <-chan time.Time
	var until time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late, until = timer.C, time.Now().Add(timeout)
	}
	select {
	case <-p.Done():
		p.Leave(until, patience)
		return false
	case <-late:
		timedOut = true
	case <-stop:
	}
	p.End(patience)
	<-p.Done()
	p.Leave(time.Now().Add(secondLook), 0)
	return timedOut
}
