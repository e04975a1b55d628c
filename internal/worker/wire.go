package worker

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"hako/run/fault"
)

// A kind says what a frame is.
type kind uint8

// The kinds of frames. A call is answered by one reply with its id.
const (
	reply    kind = iota + 1
	setUp         // to the worker, first: its settings; call
	openBox       // to the worker: make a box; call
	runBox        // to the worker: run a request; call
	judge         // to the worker: judge a script; call
	closeBox      // to the worker: close a box; call
	cancel        // both ways: nobody waits for the call any more
	input         // to the worker: standard input of a run; empty means its end
	consumed      // to the door: how much of the input was read
	output        // to the door: standard output of a run
	errout        // to the door: its standard error
	touched       // to the door: a file it read, wrote or removed
	logEvent      // to the door: an event for the record; call
	charge        // to the door: usage for the budget; call
	ask           // to the door: a question for a person; call
	dying         // to the door: why the worker ends itself
	alive         // to the door: the worker still runs
)

// maxFrame bounds one frame. Scripts and events have at most a few megabytes.
const maxFrame = 16 << 20

// A frame is one message: its length, kind and id, then its body.
type frame struct {
	kind kind
	id   uint64
	body []byte
}

const headerSize = 4 + 1 + 8

// A link sends and receives frames. Send may be called concurrently.
type link struct {
	stream io.ReadWriteCloser

	mu  sync.Mutex // a frame is written whole
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
	if cap(b) <= 1<<20 { // one large frame does not stay in memory
		l.buf = b
	}
	l.hurry()
	_, err := l.stream.Write(b)
	if err != nil { // half a frame may be out
		_ = l.stream.Close()
	}
	return err
}

// sendTime is how long the other side may take to read a frame. It always reads,
// unless it is stopped.
const sendTime = 5 * time.Second

// hurry keeps a write from waiting for ever.
func (l *link) hurry() {
	if f, ok := l.stream.(*os.File); ok {
		_ = f.SetWriteDeadline(time.Now().Add(sendTime)) // a file that knows none blocks
	}
}

func (l *link) sendJSON(k kind, id uint64, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.send(k, id, body)
}

// receive reads the next frame.
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

// An exchange is a link on which both sides make calls.
type exchange struct {
	link

	mu      sync.Mutex // guards what follows
	last    uint64
	waiting map[uint64]chan frame // calls without a reply
	failed  error                 // why no reply will come
}

// begin registers a call and returns its id.
func (x *exchange) begin() (uint64, chan frame, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return 0, nil, x.failed
	}
	if x.waiting == nil {
		x.waiting = make(map[uint64]chan frame)
	}
	x.last++
	replies := make(chan frame, 1)
	x.waiting[x.last] = replies
	return x.last, replies, nil
}

// forget gives up a call.
func (x *exchange) forget(id uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.waiting, id)
}

// deliver hands a reply to its call.
func (x *exchange) deliver(f frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if replies := x.waiting[f.id]; replies != nil {
		delete(x.waiting, f.id)
		replies <- f
	}
}

// fail ends all calls: the other side is gone.
func (x *exchange) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == nil {
		x.failed = err
	}
	for id, replies := range x.waiting {
		delete(x.waiting, id)
		close(replies)
	}
}

// result decodes a reply into v; ok is false if none came.
func (x *exchange) result(f frame, ok bool, v any) error {
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
func (x *exchange) respond(id uint64, v any, err error) error {
	a := answer{Error: encodeError(err)}
	if v != nil {
		value, merr := json.Marshal(v)
		if merr != nil {
			return merr
		}
		a.Value = value
	}
	err = x.sendJSON(reply, id, a)
	if err == errTooLong { // whoever waits must not wait for ever
		err = x.sendJSON(reply, id, answer{Error: encodeError(errTooLong)})
	}
	return err
}
