package sandboxes

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"hako/internal/app/access"
	"hako/run/fault"
)

var ann = access.Actor{Name: "ann", Role: access.Operator}

// A notebook is a record in memory.
type notebook struct {
	mu    sync.Mutex
	lines []string
	err   error // refuses everything
}

func (n *notebook) record(who access.Actor, what string) (func(error), error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, who.Name+": "+what)
	return func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err != nil {
			n.lines = append(n.lines, "failed: "+fault.KindOf(err).String())
			return
		}
		n.lines = append(n.lines, "done")
	}, n.err
}

func (n *notebook) has(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.lines, want) {
		t.Errorf("on record is %q, not %q", n.lines, want)
	}
	n.lines = nil
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("have %v, not of kind %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error()+"\n"+fault.Hint(err), part) {
			t.Errorf("%v (%s) lacks %q", err, fault.Hint(err), part)
		}
	}
}
