package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
)

// agreeing connects a client to /mcp that allows once,
// whatever it is asked.
func (h *served) agreeing(t *testing.T, asked *atomic.Int64) mcpClient {
	t.Helper()
	agree := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked.Add(1)
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}
	o := &sdk.ClientOptions{ElicitationHandler: agree}
	browser := &http.Client{Transport: bearer(h.Token)}
	transport := &sdk.StreamableClientTransport{Endpoint: h.URL + "mcp", HTTPClient: browser}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return mcpClient{t, session}
}

// TestClientIsNotItsOwnJudge: a client that would allow everything is not asked.
// The page is, and names it.
func TestClientIsNotItsOwnJudge(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte(asksAboutTouch), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serveHako(t, "steps: []", "--rules", rules)
	for _, role := range []string{"client", "operator"} {
		var asked atomic.Int64
		c := h.as(h.addToken("claude-"+role, role)).agreeing(t, &asked)
		id := c.make(map[string]any{"kind": "virtual"})
		done := make(chan map[string]any, 1)
		for _, answer := range []gate.Answer{gate.No, gate.Once} {
			go func() {
				done <- c.call("execute", map[string]any{"sandbox_id": id, "command": "touch made && ls"})
			}()
			q := h.asked()
			if !strings.HasPrefix(q.Actor, "mcp:claude-"+role) {
				t.Errorf("the page shows %+v", q)
			}
			h.answer(q.ID, answer)
			out := <-done
			made := !strings.Contains(out["words"].(string), "a person said no")
			if made != (answer == gate.Once) || asked.Load() != 0 {
				t.Errorf("%s: the client was asked %d times: %v", role, asked.Load(), out)
			}
		}
	}
	h.stop()
}

// TestClientElicitation: who wants it lets clients answer, once at a time.
func TestClientElicitation(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte(asksAboutTouch), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &served{t: t, dir: t.TempDir(), errs: &strings.Builder{}}
	if err := os.Mkdir(filepath.Join(h.dir, "proj"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.start([]string{"HAKO_APPROVAL_CLIENT_ELICITATION=true"}, "--rules", rules)
	var asked atomic.Int64
	c := h.as(h.addToken("claude", "client")).agreeing(t, &asked)
	id := c.make(map[string]any{"kind": "virtual"})
	for n := range int64(2) {
		out := c.call("execute", map[string]any{"sandbox_id": id, "command": "touch made && ls"})
		if !strings.Contains(out["words"].(string), "made") || asked.Load() != n+1 {
			t.Errorf("the client was asked %d times: %v", asked.Load(), out)
		}
	}
	h.stop()
}
