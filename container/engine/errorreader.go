package engine

import (
	"errors"
	"io"
	"sync"
)

// An errorReader keeps the error of a reader, which the HTTP client does not report.
type errorReader struct {
	from io.Reader
	mu   sync.Mutex
	err  error
}

func (w *errorReader) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
	return n, err
}

func (w *errorReader) wrong() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
