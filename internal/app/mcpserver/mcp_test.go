package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/internal/app/records"
	"hako/llm"
	"hako/policy"
)

var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// TestEveryWayIn drives a real virtual shell by the official client, over both
// transports and in all versions of the protocol.
func TestEveryWayIn(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	for _, version := range versions {
		t.Run("http "+version, func(t *testing.T) { visitAll(t, dial(t, url, "ann", version, nil), version) })
		t.Run("stdio "+version, func(t *testing.T) { visitAll(t, pipes(t, d, version, nil), version) })
	}
}

func visitAll(t *testing.T, c *client, version string) {
	if got := c.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("speaks %s", got)
	}
	id := c.sandbox()
	if got := c.out(id, "cd /tmp; x=日本; echo $x > a; cat a | wc -c"); got != "7\n" {
		t.Errorf("got %q", got)
	}
	if got := c.out(id, "pwd; echo $x"); got != "/tmp\n日本\n" {
		t.Errorf("nothing stays: %q", got)
	}
	list, _ := c.call("sandbox_list", nil)
	if n := len(list["sandboxes"].([]any)); n != 1 {
		t.Errorf("%d sandboxes", n)
	}
	for i, want := range []bool{true, false} {
		if a, _ := c.call("sandbox_destroy", args{"sandbox_id": id}); a["destroyed"] != want {
			t.Errorf("destroyed %d times: %v", i+1, a)
		}
	}
	if a, _ := c.call("execute", args{"sandbox_id": id, "command": "echo"}); kindOf(a) != "not_found" {
		t.Errorf("still there: %v", a)
	}
}

func TestExecuteFields(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	c := dial(t, overHTTP(t, d), "", "", nil)
	a, _ := c.call("execute", args{"sandbox_id": c.sandbox(), "command": "echo out; echo err >&2; exit 3"})
	want := answer{"ok": false, "stdout_text": "out\n", "stderr_text": "err\n", "exit_code": 3.0, "total_bytes": 4.0,
		"next_start": nil, "truncated": false, "cache_hit": false, "redacted": 0.0}
	if !maps.Equal(a, want) {
		t.Errorf("got %v", a)
	}
}

// TestSchemas checks that every answer fits the schema of its tool.
func TestSchemas(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Policy: judge{}, Egress: true})
	c := dial(t, overHTTP(t, d), "", "", nil)
	schemas := map[string]*jsonschema.Resolved{}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		var s jsonschema.Schema
		raw, _ := json.Marshal(tool.OutputSchema)
		if err := json.Unmarshal(raw, &s); err != nil || s.Type != "object" {
			t.Fatalf("%s: %s: %v", tool.Name, raw, err)
		}
		if schemas[tool.Name], err = s.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
	}
	id := c.sandbox()
	for _, call := range []struct {
		tool string
		in   args
		kind any
	}{
		{"sandbox_create", args{"kind": "virtual", "files": []args{{"path": "a/b", "text": "hi"}}}, nil},
		{"sandbox_create", args{"kind": "spaceship"}, "invalid"},
		{"sandbox_create", args{"kind": "virtual", "repository": "x"}, "invalid"},
		{"sandbox_list", nil, nil},
		{"sandbox_destroy", args{"sandbox_id": "box-x"}, "not_found"},
		{"execute", args{"sandbox_id": id, "command": "seq 2000"}, nil},
		{"execute", args{"sandbox_id": id, "command": "if"}, "invalid"},
		{"command-executor_execute_command", args{"sandbox_id": id, "command": "seq 9000"}, nil},
		{"command-executor_execute_command", args{"sandbox_id": id, "command": "(("}, "invalid"},
		{"text_editor", args{"sandbox_id": id, "command": "view", "path": "/box"}, "invalid"},
		{"write_file", args{"sandbox_id": id, "path": "d/e/f", "text": "hi"}, nil},
		{"read_file", args{"sandbox_id": id, "path": "d/e/f"}, nil},
		{"read_file", args{"sandbox_id": id, "path": "nothing"}, "not_found"},
		{"list_files", args{"sandbox_id": id}, nil},
		{"job_start", args{"sandbox_id": id, "command": "sleep 1"}, "invalid"},
		{"policy_check", args{"command": "rm x", "profile": "host"}, nil},
		{"policy_check", args{"command": "rm x", "profile": "none"}, "invalid"},
	} {
		a, _ := c.call(call.tool, call.in)
		if kindOf(a) != call.kind {
			t.Errorf("%s %v: %v", call.tool, call.in, a)
		}
		if err := schemas[call.tool].Validate(map[string]any(a)); err != nil {
			t.Errorf("%s %v: %v: %v", call.tool, call.in, a, err)
		}
	}
}

type judge struct{}

func (judge) Check(_ context.Context, profile, command string) ([]records.Verdict, error) {
	return []records.Verdict{{Command: "ls", Effect: "allow"}, {Command: command, Effect: "ask", Why: profile}}, nil
}

// TestAnnotations checks what clients are told about each tool.
func TestAnnotations(t *testing.T) {
	for _, egress := range []bool{false, true} {
		web := tool.Tool{Tool: llm.Tool{Name: "web_search", Schema: json.RawMessage(`{"type":"object"}`)}}
		d := open(t, Options{Maker: newVirtual(""), Egress: egress, Policy: judge{}, Tools: []tool.Tool{web}})
		got := map[string]string{}
		for _, o := range d.tools {
			a, words := o.Annotations, []string{}
			for word, on := range map[string]bool{"reads": a.ReadOnlyHint, "destructive": *a.DestructiveHint,
				"idempotent": a.IdempotentHint, "open": *a.OpenWorldHint} {
				if on {
					words = append(words, word)
				}
			}
			slices.Sort(words)
			got[o.Name] = strings.Join(words, " ")
		}
		want := map[string]string{
			"sandbox_list": "idempotent reads", "sandbox_destroy": "destructive idempotent", "sandbox_create": "",
			"execute": "destructive", "command-executor_execute_command": "destructive", "job_start": "destructive",
			"text_editor": "destructive", "read_file": "idempotent reads", "list_files": "idempotent reads",
			"write_file": "destructive idempotent",
			"job_output": "idempotent reads", "job_kill": "destructive idempotent", "policy_check": "idempotent reads",
			"web_search": "idempotent open reads",
		}
		if egress {
			for _, name := range []string{"execute", "command-executor_execute_command", "job_start", "sandbox_create"} {
				want[name] = strings.TrimSpace(want[name] + " open")
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("egress %v: %v", egress, got)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Policy: judge{}})
	a, _ := pipes(t, d, "", nil).call("policy_check", args{"command": "rm x", "profile": "host"})
	if a["effect"] != policy.Ask.String() || len(a["verdicts"].([]any)) != 2 {
		t.Errorf("got %v", a)
	}
}

func TestGivenTools(t *testing.T) {
	echo := tool.New("web_search", "looks", func(_ context.Context, in struct {
		Query string `json:"query"`
	}) (string, error) {
		return "found " + in.Query + " password=hunter2hunter2", nil
	})
	d := open(t, Options{Maker: newVirtual(""), Tools: []tool.Tool{echo}})
	c := pipes(t, d, "", nil)
	for in, want := range map[string]string{`{"query":"fish"}`: "found fish password=[redacted]",
		`{"q":"fish"}`: "query is missing"} {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "web_search", Arguments: json.RawMessage(in)})
		if err != nil || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, want) ||
			res.IsError != strings.Contains(in, `"q"`) {
			t.Errorf("%s: %v %+v", in, err, res)
		}
	}
}
