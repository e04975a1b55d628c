package mcpserver

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/run"
)

// FuzzArguments calls every tool with whatever comes: there is always an answer,
// and it is JSON.
func FuzzArguments(f *testing.F) {
	for _, in := range []string{`{}`, `null`, `[]`, `7`, ``, `{"sandbox_id":"ID","command":"ls","start":1,"size":2}`,
		`{"sandbox_id":"ID","path":"a","text":"b"}`,
		`{"kind":"virtual","files":[{"path":"/","text":""}]}`, `{"sandbox_id":null}`, `{"sandbox_id":"\ud800"}`,
		`{"command":"\u0000"}`, `{"start":1e400}`, "{\"command\":\"\xff\"}"} {
		f.Add(in, "requestState.x")
	}
	d := New(Options{Policy: judge{}, Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
		req.Stdout.Write([]byte(req.Script))
		return run.Result{}, nil
	})})
	f.Cleanup(func() { d.Close(context.Background()) })
	b, err := d.build(context.Background(), "ann", "ann", SandboxOptions{Kind: Virtual})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in, state string) {
		for _, o := range d.tools {
			if o.Name == "sandbox_destroy" {
				continue
			}
			for _, text := range []string{in, `{"sandbox_id":"` + b.id + `",` + in} {
				req := &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: o.Name, Arguments: json.RawMessage(text),
					RequestState: state}}
				for range 2 {
					res, err := d.serve(t.Context(), req, func(*sdk.RequestExtra) (string, context.Context) { return "ann", nil }, o)
					if req.Params.RequestState != "" {
						if req.Params.RequestState = ""; err == nil {
							t.Fatalf("%s: state %q", o.Name, state)
						}
						continue
					}
					raw, err := json.Marshal(res)
					if err != nil || !utf8.Valid(raw) || len(res.Content) == 0 {
						t.Fatalf("%s %q: %s %v", o.Name, text, raw, err)
					}
				}
			}
		}
		for _, b := range d.pick(func(x *managedSandbox) bool { return x != b }) {
			d.remove(t.Context(), b, errDestroyed)
		}
	})
}

// FuzzLogAddress reads addresses.
func FuzzLogAddress(f *testing.F) {
	f.Add("hako://sandbox/a/logs/1/stderr?offset=3")
	f.Fuzz(func(t *testing.T, uri string) {
		if _, _, _, offset, ok := parseLog(uri); ok && offset < 0 {
			t.Fatal(uri)
		}
	})
}
