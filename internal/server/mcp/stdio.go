package mcp

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdin is an input whose end is kept back for a moment while requests are being
// answered: scripts write what they want and close the pipe at once, and the
// library drops what is not answered by then.
type stdin struct {
	in    io.Reader
	grace time.Duration
	busy  atomic.Int64 // requests being answered
}

// Read implements [io.Reader].
func (s *stdin) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if n == 0 && err != nil {
		s.settle(s.grace)
	}
	return n, err
}

// settle waits until nothing has been under way for some moments in a row: what
// was read last may not have begun, and what ended last not be written.
func (s *stdin) settle(most time.Duration) {
	const moment = 10 * time.Millisecond
	quiet := 0
	for end := time.Now().Add(most); quiet < 3 && time.Now().Before(end); time.Sleep(moment) {
		quiet++
		if s.busy.Load() > 0 {
			quiet = 0
		}
	}
}

// Close implements [io.Closer]. The input is not ours to close.
func (s *stdin) Close() error { return nil }

// stdout is an output that is not ours to close.
type stdout struct {
	io.Writer
	broken atomic.Bool // nobody listens any more
}

// Write implements [io.Writer].
func (s *stdout) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.broken.Store(true)
	}
	return n, err
}

// Close implements [io.Closer].
func (*stdout) Close() error { return nil }

// counted counts requests while they are being answered.
func (s *stdin) counted(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		s.busy.Add(1)
		defer s.busy.Add(-1)
		return next(ctx, method, req)
	}
}
