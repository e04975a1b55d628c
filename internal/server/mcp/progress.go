package mcp

import (
	"bytes"
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// beat is how often a client hears about progress.
const beat = 500 * time.Millisecond

// teller returns what says when to tell the client about progress; it never
// does where nobody wants to know.
func (v *visit) teller() (<-chan time.Time, func()) {
	if v.Params.GetProgressToken() == nil {
		return nil, func() {}
	}
	t := time.NewTicker(beat)
	return t.C, t.Stop
}

// tell says how much a call has printed. What is printed only ever grows, and so
// does the number.
func (v *visit) tell(ctx context.Context, c *call) {
	if n := c.bytes.Load(); n > v.told {
		v.told = n
		v.report(ctx, float64(n), fmt.Sprintf("%d bytes, %d lines so far", n, c.lines.Load()))
	}
}

// report sends progress to a client that asked for it. One that is gone misses
// nothing.
func (v *visit) report(ctx context.Context, progress float64, text string) {
	if token := v.Params.GetProgressToken(); token != nil {
		_ = v.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: progress, Message: text})
	}
}

// counter counts what a call prints.
type counter struct{ *call }

// Write implements [io.Writer].
func (c counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	c.lines.Add(int64(bytes.Count(p, []byte{'\n'})))
	return len(p), nil
}
