package llmcmd

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// together is how long after the end of the input a signal counts as having come
// with it. Ctrl-C ends the writer of a pipe at the same time as it is sent here,
// but it takes a moment until a program hears of it: without this the end of half
// an input passes for that of a whole one.
const together = 250 * time.Millisecond

// A watchedInput notes when its end came.
type watchedInput struct {
	io.Reader
	piped bool         // somebody writes it while it is read
	ended atomic.Int64 // in nanoseconds of the clock; zero means not yet
}

// watchInput returns in with a note of its end.
func watchInput(in io.Reader) *watchedInput {
	w := &watchedInput{Reader: in, piped: true}
	if f, ok := in.(*os.File); ok {
		info, err := f.Stat()
		w.piped = err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	}
	return w
}

// Read implements [io.Reader].
func (w *watchedInput) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if err != nil {
		w.ended.CompareAndSwap(0, time.Now().UnixNano())
	}
	return n, err
}

// Close implements [io.Closer]: whoever writes hears that nobody reads.
func (w *watchedInput) Close() error {
	if c, ok := w.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// settled returns the cause of ctx if a signal came before the input ended, or
// together with its end.
func (w *watchedInput) settled(ctx context.Context) error {
	if w != nil && w.piped && w.ended.Load() != 0 {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(time.Unix(0, w.ended.Load()).Add(together))):
		}
	}
	return context.Cause(ctx)
}
