package cli

import (
	"strings"
	"testing"

	"hako/internal/work/crew"
)

// Who runs hako agent once is told what it waits for.
func TestAgentSaysWhatItWaitsFor(t *testing.T) {
	var out, messages strings.Builder
	v := &view{s: streams{out: &out, err: &messages}}
	v.print(crew.Event{Type: "waiting", Thread: "github/o/r/issue/1", Try: 4, Why: "ask model m:\nit is away"})
	if got := messages.String(); got != "github/o/r/issue/1: waiting for try 4; the last came to nothing: ask model m: it is away\n" || out.Len() > 0 {
		t.Errorf("got %q, %q", got, out.String())
	}
}
