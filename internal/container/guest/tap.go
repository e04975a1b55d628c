package guest

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"hako/internal/container/guest/nursery"
)

const (
	// patience is what a command gets to end by itself when it must.
	patience = 200 * time.Millisecond
	// drained is how long after the end of a command those that it left behind
	// may still add to its output.
	drained = 100 * time.Millisecond
)

// A tap passes on what a program prints on one stream.
type tap struct {
	from *os.File
	room *window        // how much may be passed on; nil means everything
	pass func(p []byte) // is done with p when it returns
}

// firstBuffer is small, because most commands wait most of the time; the buffer
// of one that prints a lot grows.
const firstBuffer = 2 << 10

// run passes on until nobody can print any more, or, after [tap.last], until
// what the program printed is through.
func (t *tap) run() {
	buf := make([]byte, firstBuffer)
	owed := -1 // bytes to pass on before it is over; less than zero means all that come
	for owed != 0 {
		n := t.want(buf, owed)
		if n == 0 {
			break
		}
		got, err := t.from.Read(buf[:n])
		if t.room != nil {
			t.room.give(n - got)
		}
		if got > 0 {
			t.pass(buf[:got])
		}
		if owed > 0 {
			owed -= got
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && owed < 0:
			owed = nursery.Pending(t.from)
			t.from.SetReadDeadline(time.Time{})
		default:
			t.from.Close()
			return
		}
		if got == len(buf) && len(buf) < maxChunk {
			buf = make([]byte, 2*len(buf))
		}
	}
	go discard(t.from)
}

// want returns how many bytes to read, zero when nobody wants them any more.
func (t *tap) want(buf []byte, owed int) int {
	n := len(buf)
	if owed > 0 {
		n = min(n, owed)
	}
	if t.room != nil {
		n = t.room.take(n)
	}
	return n
}

// last says that the program has ended.
func (t *tap) last() { t.from.SetReadDeadline(time.Now().Add(drained)) }

// discard reads what nobody wants: a server that was left behind must not break,
// or stand still, because it still prints.
func discard(f *os.File) {
	f.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, f)
	f.Close()
}

// supervise runs a program to its end and the end of its output. It is ended
// early when its time runs out, which is reported, or when stop is closed.
func supervise(p *nursery.Process, timeout time.Duration, stop <-chan struct{}, taps ...*tap) (timedOut bool) {
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

// await waits for the end of a program or brings it about.
func await(p *nursery.Process, timeout time.Duration, stop <-chan struct{}) (timedOut bool) {
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.Done():
		return false
	case <-late:
		timedOut = true
	case <-stop:
	}
	p.End(patience)
	<-p.Done()
	return timedOut
}
