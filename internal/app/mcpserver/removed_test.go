package mcpserver

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/testload"
)

// The sandboxes of a caller end soon after its token was removed, also if nothing
// is asked of them; those of others stay.
func TestRemovedTokenClosesItsSandboxes(t *testing.T) {
	var removed, asked atomic.Bool
	maker := newVirtual("")
	d := open(t, Options{Maker: maker, Caller: byHeader, Removed: func(token string) func() bool {
		if token != "ann" {
			return nil
		}
		return func() bool { asked.Store(true); return removed.Load() }
	}})
	url := overHTTP(t, d)
	ann, bob := dial(t, url, "ann", stateless, nil), dial(t, url, "bob", stateless, nil)
	first, second, other := ann.sandbox(), ann.sandbox(), bob.sandbox()
	ann.out(first, "echo hi")
	time.Sleep(tokenInterval + 200*time.Millisecond)
	if !asked.Load() || maker.closed.Load() != 0 {
		t.Fatalf("asked: %v; %d are closed", asked.Load(), maker.closed.Load())
	}
	removed.Store(true)
	for began := time.Now(); maker.closed.Load() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > testload.Bound(2*time.Second) {
			t.Fatalf("%d of 2 are closed", maker.closed.Load())
		}
	}
	for _, id := range []string{first, second} {
		if _, err := d.enter("ann", id); err == nil {
			t.Error("a sandbox is still there")
		}
	}
	if got := bob.out(other, "echo hi"); got != "hi\n" {
		t.Errorf("another caller: %q", got)
	}
}

// A sandbox that was being made when the token was removed is closed as well.
func TestRemovedTokenWhileASandboxIsMade(t *testing.T) {
	maker := newVirtual("")
	d := open(t, Options{Maker: maker, Caller: byHeader, Removed: func(string) func() bool {
		began := time.Now()
		return func() bool { return time.Since(began) > tokenInterval/2 }
	}})
	dial(t, overHTTP(t, d), "ann", stateless, nil)
	time.Sleep(tokenInterval + 200*time.Millisecond) // it was found to be removed, and nothing was there
	if _, err := d.build(context.Background(), "ann", "mcp:ann", SandboxOptions{Kind: Virtual}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); maker.closed.Load() < 1; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > testload.Bound(2*time.Second) {
			t.Fatal("it stays")
		}
	}
}
