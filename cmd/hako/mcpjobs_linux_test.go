package main

import (
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPJobIsWatched: what a job prints is there while it still runs.
func TestMCPJobIsWatched(t *testing.T) {
	c := connect(t, &sdk.CommandTransport{Command: hakoCommand(t, "mcp")})
	for _, kind := range []string{"virtual", "host"} {
		at := map[string]any{"sandbox_id": c.make(map[string]any{"kind": kind})}
		at["command"] = "echo first; sleep 3; echo second"
		at["job_id"] = c.call("job_start", at)["job_id"]
		delete(at, "command")
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			out := c.call("job_output", at)
			if out["text"] == "first\n" {
				break
			}
			if out["exit_code"] != nil || time.Since(began) > time.Minute {
				t.Fatalf("%s: %v", kind, out)
			}
		}
	}
}
