package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"hako/run/fault"
)

// A kind is the kind of a frame.
type kind uint8

// The kinds of frames. A call is answered by one reply with its ID.
const (
	reply    kind = iota + 1
	setUp         // to the worker, first: its settings; call
	openBox       // to the worker: make a sandbox; call
	runBox        // to the worker: run a request; call
	judge         // to the worker: judge a script; call
	closeBox      // to the worker: close a sandbox; call
	cancel        // both ways: nobody waits for the call any more
	input         // to the worker: standard input of a run; empty means its end
	consumed      // to the server: how much of the input was read
	output        // to the server: standard output of a run
	errout        // to the server: its standard error
	touched       // to the server: a file it read, wrote or removed
	logEvent      // to the server: an event for the record; call
	charge        // to the server: usage for the budget; call
	ask           // to the server: a question for a person; call
	dying         // to the server: why the worker ends itself
	alive         // to the server: the worker still runs
)

// maxFrame is the maximum size of a frame.
const maxFrame = 16 << 20

// A frame is a message: length, kind and ID, then its body.
type frame struct {
	kind kind
	id   uint64
	body []byte
}

const headerSize = 4 + 1 + 8

// A link sends and receives frames. Send may be called concurrently.
type link struct {
	stream io.ReadWriteCloser

	mu  sync.Mutex // frames are written as a whole
	buf []byte
}

func (l *link) send(k kind, id uint64, body []byte) error {
	if len(body) > maxFrame {
		return errTooLong
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(l.buf[:0], make([]byte, headerSize)...)
	binary.BigEndian.PutUint32(b, uint32(len(body)))
	b[4] = byte(k)
	binary.BigEndian.PutUint64(b[5:], id)
	b = append(b, body...)
	if cap(b) <= 1<<20 { // do not keep the memory of a large frame
		l.buf = b
	}
	l.setDeadline()
	_, err := l.stream.Write(b)
	if err != nil { // part of the frame may be sent
		_ = l.stream.Close()
	}
	return err
}

// writeTimeout is the write timeout of a frame. The other side always reads, unless it is stopped.
const writeTimeout = 5 * time.Second

// setDeadline sets the write deadline.
func (l *link) setDeadline() {
	if f, ok := l.stream.(*os.File); ok {
		_ = f.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
}

func (l *link) sendJSON(k kind, id uint64, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.send(k, id, body)
}

func receive(r io.Reader) (frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(h[:])
	if n > maxFrame {
		return frame{}, errTooLong
	}
	f := frame{kind(h[4]), binary.BigEndian.Uint64(h[5:]), make([]byte, n)}
	_, err := io.ReadFull(r, f.body)
	return f, err
}

var errTooLong error = &fault.Error{Kind: fault.TooLarge, Op: "run script",
	Why: "what it leaves behind is too much to be reported", Hint: "use fewer and shorter names"}

// An answer is the body of a reply.
type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *wireError      `json:"error,omitempty"`
}

// An peer is a link on which both sides make calls.
type peer struct {
	link

	mu           sync.Mutex // guards the fields below
	last         uint64
	pendingCalls map[uint64]chan frame // calls without a reply
	failed       error                 // why no reply will come
}

// register registers a call and returns its ID.
func (x *peer) register() (uint64, chan frame, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return 0, nil, x.failed
	}
	if x.pendingCalls == nil {
		x.pendingCalls = make(map[uint64]chan frame)
	}
	x.last++
	replies := make(chan frame, 1)
	x.pendingCalls[x.last] = replies
	return x.last, replies, nil
}

// forget gives up a call.
func (x *peer) forget(id uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.pendingCalls, id)
}

// deliver passes a reply to its call.
func (x *peer) deliver(f frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if replies := x.pendingCalls[f.id]; replies != nil {
		delete(x.pendingCalls, f.id)
		replies <- f
	}
}

// fail ends all calls: the other side is gone.
func (x *peer) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == nil {
		x.failed = err
	}
	for id, replies := range x.pendingCalls {
		delete(x.pendingCalls, id)
		close(replies)
	}
}

// call makes a call and waits for its reply. If ctx ends first, gone is called with the ID of the call.
func (x *peer) call(ctx context.Context, k kind, m, v any, gone func(id uint64)) error {
	id, replies, err := x.register()
	if err != nil {
		return err
	}
	if err := x.sendJSON(k, id, m); err != nil {
		x.forget(id)
		return err
	}
	select {
	case f, ok := <-replies:
		return x.result(f, ok, v)
	case <-ctx.Done():
		x.forget(id)
		gone(id)
		return context.Cause(ctx)
	}
}

// result decodes a reply into v; ok is false if none came.
func (x *peer) result(f frame, ok bool, v any) error {
	if !ok {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.failed
	}
	var a answer
	if err := json.Unmarshal(f.body, &a); err != nil {
		return err
	}
	if v != nil && a.Value != nil {
		if err := json.Unmarshal(a.Value, v); err != nil {
			return err
		}
	}
	return a.Error.decode()
}

// respond answers a call of the other side.
func (x *peer) respond(id uint64, v any, err error) error {
	a := answer{Error: encodeError(err)}
	if v != nil {
		value, merr := json.Marshal(v)
		if merr != nil {
			return merr
		}
		a.Value = value
	}
	err = x.sendJSON(reply, id, a)
	if err == errTooLong { // the caller must get a reply
		err = x.sendJSON(reply, id, answer{Error: encodeError(errTooLong)})
	}
	return err
}
