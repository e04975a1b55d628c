package audit

import (
	"io"
	"sync"
	"time"

	"hako/internal/redact"
	"hako/run/fault"
)

// A Writer is a [Log] that writes to an [io.Writer]. It is safe for concurrent use.
type Writer struct {
	opt Options

	mu   sync.Mutex // guards what follows
	w    io.Writer
	enc  encoder
	last chainPosition
}

// NewWriter returns a log that begins a new chain. Each event is one call of w.Write. Options.Sync is ignored.
func NewWriter(w io.Writer, opt Options) *Writer {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Writer{opt: opt, w: w, enc: encoder{secrets: redact.Filter{Values: opt.Secrets}}, last: chainStart}
}

// Append implements [Log]. After a failed write every later event fails, too.
func (l *Writer) Append(e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return l.writeError(io.ErrClosedPipe)
	}
	l.enc.buf = l.enc.buf[:0]
	e.Seq, e.Time, e.Prev, e.Recovered = l.last.seq+1, l.opt.Now(), l.last.hash, nil
	hash := l.enc.line(&e)
	if _, err := l.w.Write(l.enc.buf); err != nil {
		l.w = nil
		return l.writeError(err)
	}
	l.last = chainPosition{e.Seq, hash}
	return nil
}

func (l *Writer) writeError(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "write audit log", Err: err,
		Hint: "what cannot be recorded is not run"}
}
