package term

import (
	"context"
	"io"
	"os"
)

// An outputLock blocks output to the terminal while a question is open there, because it could overwrite the question.
// A nil lock blocks nothing.
type outputLock struct{ turn chan struct{} }

func newOutputLock() *outputLock { return &outputLock{turn: make(chan struct{}, 1)} }

// hold blocks output until release is called. It waits for a current write, until ctx ends.
func (l *outputLock) hold(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if ctx.Err() != nil { // the answer is not needed any more
		l.release()
		return nil, context.Cause(ctx)
	}
	return l.release, nil
}

func (l *outputLock) release() { <-l.turn }

// A lockedOutput is standard output or standard error under a lock.
type lockedOutput struct {
	to   io.Writer
	file *os.File // the file behind the writer; nil if there is none
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

// locked puts both outputs under a lock. A pipe too, because it may lead to the same terminal. Equal writers stay
// equal.
func locked(out, err io.Writer) (io.Writer, io.Writer, *outputLock) {
	lock := newOutputLock()
	lockedErr := &lockedOutput{to: err, file: fileOf(err), lock: lock}
	if f := fileOf(out); f != nil && f == lockedErr.file {
		return lockedErr, lockedErr, lock
	}
	return &lockedOutput{to: out, file: fileOf(out), lock: lock}, lockedErr, lock
}
