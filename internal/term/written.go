package term

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"hako/run/fault"
)

// A Written remembers the first error of writing: most commands only print, and a missing result must not look like
// success.
type Written struct {
	io.Writer
	lost atomic.Pointer[error]
}

// NewWritten returns a writer to out and its Written. The writer of a terminal is out itself, so that its size can be
// asked.
func NewWritten(out io.Writer) (io.Writer, *Written) {
	w := &Written{Writer: out}
	if Is(out) {
		return out, w
	}
	return w, w
}

// Write implements [io.Writer].
func (w *Written) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.note(err)
}

// WriteString implements [io.StringWriter].
func (w *Written) WriteString(s string) (int, error) {
	n, err := io.WriteString(w.Writer, s)
	return n, w.note(err)
}

func (w *Written) note(err error) error {
	if err != nil {
		w.lost.CompareAndSwap(nil, &err)
	}
	return err
}

// Or returns err, or else the error of the output.
func (w *Written) Or(err error) error {
	lost := w.lost.Load()
	if err != nil || lost == nil {
		return err
	}
	return &fault.Error{Op: "write output", Err: reasonOf(*lost),
		Hint: "what came out is not complete: make room, or send it elsewhere"}
}

// reasonOf strips the operation and path from an error of package os.
func reasonOf(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
