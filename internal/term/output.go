package term

import (
	"context"
	"io"
	"os"
)

// An outputLock keeps this process from writing to a person's terminal while a
// question is open there: what is printed meanwhile could paint over it. Who
// writes waits until the question has ended. A nil lock keeps nobody waiting.
type outputLock struct{ turn chan struct{} }

func newOutputLock() *outputLock { return &outputLock{turn: make(chan struct{}, 1)} }

// hold keeps everybody else from writing until release is called. It waits for a
// write that is under way, as long as ctx lasts.
func (l *outputLock) hold(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if ctx.Err() != nil { // nobody waits for the answer any more
		l.release()
		return nil, context.Cause(ctx)
	}
	return l.release, nil
}

func (l *outputLock) release() { <-l.turn }

// A lockedOutput is standard output or standard error under a lock. There is no
// other way to the writer below.
type lockedOutput struct {
	to   io.Writer
	file *os.File // the same, or what it leads to; nil if that is no file
	lock *outputLock
}

// Write implements [io.Writer].
func (o *lockedOutput) Write(p []byte) (int, error) {
	o.lock.turn <- struct{}{}
	defer o.lock.release()
	return o.to.Write(p)
}

// WriteString implements [io.StringWriter].
func (o *lockedOutput) WriteString(s string) (int, error) {
	o.lock.turn <- struct{}{}
	defer o.lock.release()
	return io.WriteString(o.to, s)
}

// locked puts the two outputs under a lock, if somebody may be asked at the
// terminal. One that is a pipe too: it may lead to the same terminal. The same
// writer stays the same.
func locked(out, err io.Writer) (io.Writer, io.Writer, *outputLock) {
	lock := newOutputLock()
	lockedErr := &lockedOutput{to: err, file: FileOf(err), lock: lock}
	if f := FileOf(out); f != nil && f == lockedErr.file {
		return lockedErr, lockedErr, lock
	}
	return &lockedOutput{to: out, file: FileOf(out), lock: lock}, lockedErr, lock
}
