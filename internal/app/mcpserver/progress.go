package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressInterval is the interval of progress notifications.
const progressInterval = 500 * time.Millisecond

// progressTicks returns a ticker for progress notifications, which never fires if the client wants none.
func (v *toolCall) progressTicks() (<-chan time.Time, func()) {
	if v.Params.GetProgressToken() == nil {
		return nil, func() {}
	}
	t := time.NewTicker(progressInterval)
	return t.C, t.Stop
}

// quietInterval is how long a client hears nothing of a call without output: two beats, which may come a little early.
const quietInterval = 2*progressInterval - progressInterval/5

// tellProgress reports the progress of a call. The number is a time, which only grows.
func (v *toolCall) tellProgress(ctx context.Context, c *call) {
	n, taken := c.bytes.Load(), time.Since(c.began).Round(time.Millisecond)
	if n == v.reportedBytes && taken < v.reportedAt+quietInterval {
		return
	}
	v.reportedBytes, v.reportedAt = n, taken
	text := fmt.Sprintf("running for %v, nothing printed yet", taken.Round(100*time.Millisecond))
	if n > 0 {
		text = fmt.Sprintf("%d bytes, %d lines so far, running for %v", n, c.lines.Load(), taken.Round(100*time.Millisecond))
	}
	v.report(ctx, v.makeSteps+taken.Seconds(), text)
}

// report sends progress to a client that asked for it.
func (v *toolCall) report(ctx context.Context, progress float64, text string) {
	if token := v.Params.GetProgressToken(); token != nil {
		_ = v.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: progress,
			Message: text})
	}
}

// counter counts the output of a call.
type counter struct{ *call }

func (c counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	c.lines.Add(int64(bytes.Count(p, []byte{'\n'})))
	return len(p), nil
}
