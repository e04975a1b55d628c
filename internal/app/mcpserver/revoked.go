package mcpserver

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

var errRemoved = &fault.Error{Kind: fault.Denied, Op: "use sandbox", Why: "the token of its caller was removed"}

// watchToken remembers how to tell that the token of a caller was removed: sandboxes and jobs must not outlive it.
func (d *Server) watchToken(caller string, r *http.Request) {
	if d.opts.Removed == nil {
		return
	}
	if _, known := d.removed.Load(caller); known {
		return
	}
	d.removed.Store(caller, d.opts.Removed(tokenOf(r)))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tokenCheck == nil && !d.closed {
		d.tokenCheck = time.AfterFunc(tokenInterval, d.closeRemoved)
	}
}

// closeRemoved closes the sandboxes of callers whose token was removed, repeatedly: one may just be being made.
func (d *Server) closeRemoved() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.pending.Add(1)
	callers := slices.Collect(maps.Keys(d.owned))
	d.mu.Unlock()
	defer d.pending.Done()
	gone := map[string]bool{}
	for _, caller := range callers {
		gone[caller] = d.wasRemoved(caller)
	}
	_ = d.closeBoxes(context.Background(), func(b *managedSandbox) bool { return gone[b.caller] }, errRemoved)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.tokenCheck.Reset(tokenInterval)
	}
}

func (d *Server) wasRemoved(caller string) bool {
	removed, _ := d.removed.Load(caller)
	tell, ok := removed.(func() bool)
	return ok && tell != nil && tell()
}

// tokenOf returns the bearer token of a request, or "".
func tokenOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
