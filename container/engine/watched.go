package engine

import (
	"errors"
	"io"
	"sync"
)

// A watched reader remembers why it stopped: the connection it feeds reports only
// that it did.
type watched struct {
	from io.Reader
	mu   sync.Mutex
	err  error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
	return n, err
}

func (w *watched) wrong() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
