package llmcmd

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// together is how long after the end of the input a signal counts as simultaneous. Ctrl-C also ends the writer of
// a pipe: without this, a truncated input would pass for a complete one.
const together = 250 * time.Millisecond

// A watchedInput records when it ended.
type watchedInput struct {
	io.Reader
	piped bool         // another process writes it
	ended atomic.Int64 // Unix time in nanoseconds; zero means not yet
}

func watchInput(in io.Reader) *watchedInput {
	w := &watchedInput{Reader: in, piped: true}
	if f, ok := in.(*os.File); ok {
		info, err := f.Stat()
		w.piped = err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	}
	return w
}

func (w *watchedInput) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if err != nil {
		w.ended.CompareAndSwap(0, time.Now().UnixNano())
	}
	return n, err
}

// Close closes the reader, so that the writer gets a broken pipe.
func (w *watchedInput) Close() error {
	if c, ok := w.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// settled returns the cause of ctx if it ended before the input, or together with it.
func (w *watchedInput) settled(ctx context.Context) error {
	if w != nil && w.piped && w.ended.Load() != 0 {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(time.Unix(0, w.ended.Load()).Add(together))):
		}
	}
	return context.Cause(ctx)
}
