package main

import (
	"io"
	"sync/atomic"

	"hako/internal/app"
	"hako/run/fault"
)

// A written remembers whether all that was written arrived: most commands only
// print, and a result that is not there must not look like success.
type written struct {
	io.Writer
	lost atomic.Pointer[error]
}

// noting returns out itself if it is a terminal, which others ask for its size.
func noting(out io.Writer) (io.Writer, *written) {
	w := &written{Writer: out}
	if isTerminal(out) {
		return out, w
	}
	return w, w
}

func (w *written) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.note(err)
}

// WriteString implements [io.StringWriter].
func (w *written) WriteString(s string) (int, error) {
	n, err := io.WriteString(w.Writer, s)
	return n, w.note(err)
}

func (w *written) note(err error) error {
	if err != nil {
		w.lost.CompareAndSwap(nil, &err)
	}
	return err
}

// or returns err, or else what was wrong with the output.
func (w *written) or(err error) error {
	lost := w.lost.Load()
	if err != nil || lost == nil {
		return err
	}
	return &fault.Error{Op: "write output", Err: app.ReasonOf(*lost), Hint: "what came out is not complete: make room, or send it elsewhere"}
}
