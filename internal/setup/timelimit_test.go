package setup

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"hako/quota"
)

// TestWaiting: a script may wait for its input as long as it likes, but not work.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := quota.NewLimiter(quota.ScriptLimits{Time: 4 * time.Second})
		ctx, stop := g.Start(t.Context())
		defer stop()
		slow := readerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Hour)
			return copy(p, "late"), io.EOF
		})
		text, err := io.ReadAll(PauseWhileReading(slow, g))
		if string(text) != "late" || err != nil || ctx.Err() != nil {
			t.Fatalf("%q, %v, %v", text, err, ctx.Err())
		}
		time.Sleep(5 * time.Second)
		if ctx.Err() == nil || g.Err() == nil {
			t.Error("its own time does not count any more")
		}
	})
	if PauseWhileReading(nil, nil) != nil {
		t.Error("no input became one")
	}
}
