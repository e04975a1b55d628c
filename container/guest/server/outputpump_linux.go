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
	// patience is what a command gets to end by itself when it must.
	patience = 200 * time.Millisecond
	// drained is how long after the end of a command those that it left behind may still add to its output.
	drained = 100 * time.Millisecond
	// secondLook is how long after the end of a command that had to be ended we
	// see whether it has got away from us after all.
	secondLook = time.Second
)

// A outputPump passes on what a program prints on one stream.
type outputPump struct {
	from  *os.File
	room  *wire.Window   // how much may be passed on; nil means everything
	pass  func(p []byte) // is done with p when it returns
	large *buffers       // to borrow from; nil means none
	more  bool           // there was as much as could be read the last time
}

// ownBuffer is small, because most commands wait most of the time.
const ownBuffer = 2 << 10

// buffers are large ones, for taps that have much to pass on right now. There are only a few: whoever gets none makes
// do with its own, so that nobody waits for one that is held by somebody whose client has stopped listening.
type buffers struct{ free chan []byte }

// fewBuffers is how many there are.
const fewBuffers = 16

func newBuffers() *buffers {
	b := &buffers{free: make(chan []byte, fewBuffers)}
	for range fewBuffers {
		b.free <- nil // made when it is needed
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

// run passes on until nobody can print any more, or, after [pump.last], until what the program printed is through.
func (t *outputPump) run() {
	own := make([]byte, ownBuffer)
	owed := -1 // bytes to pass on before it is over; less than zero means all that come
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

// errUnwanted says that nobody wants the output any more.
var errUnwanted = errors.New("nobody wants it")

// once passes on one piece. A large buffer is borrowed only if there is enough to
// fill it and room to pass it on: it is never held while waiting for either.
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

// want returns how many bytes to read, zero when nobody wants them any more.
func (t *outputPump) want(n, owed int) int {
	if owed > 0 {
		n = min(n, owed)
	}
	if t.room != nil {
		n = t.room.Take(n)
	}
	return n
}

// last says that the program has ended.
func (t *outputPump) last() { t.from.SetReadDeadline(time.Now().Add(drained)) }

// discard reads what nobody wants: a server that was left behind must not break,
// or stand still, because it still prints.
func discard(f *os.File) {
	f.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, f)
	f.Close()
}

// supervise runs a program to its end and the end of its output. It is ended
// early when its time runs out, which is reported, or when stop is closed.
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

// await waits for the end of a program or brings it about. What a program leaves behind that ended by itself gets the
// rest of its time; one that was ended leaves nothing.
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
