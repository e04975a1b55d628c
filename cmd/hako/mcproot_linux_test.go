package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPOutside: what lies outside of the root is refused in the words of the
// call, with what to do instead, and is on record.
func TestMCPOutside(t *testing.T) {
	cmd := hakoCommand(t, "mcp")
	if err := os.Mkdir(filepath.Join(cmd.Dir, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(cmd.Dir, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/b/c", filepath.Join(cmd.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	host := c.make(map[string]any{"kind": "host"})
	for _, x := range []struct {
		tool, want, not string
		in              map[string]any
	}{
		{"text_editor", `"command":"text_editor view /etc/passwd"`, "realpath",
			map[string]any{"command": "view", "path": "/etc/passwd"}},
		{"text_editor", `"command":"text_editor create ../x"`, "realpath", map[string]any{"command": "create", "path": "../x",
			"file_text": "x"}},
		{"command-executor_execute_command",
			`"kind":"denied","command":"working_directory /etc","reason":"/etc is outside of the root","hint":"use a path inside `, "No such", map[string]any{"command": "pwd", "working_directory": "/etc"}},
		{"command-executor_execute_command", `"reason":"../.. is outside of the root"`, "exit_code\":0",
			map[string]any{"command": "pwd", "working_directory": "../.."}},
		{"command-executor_execute_command", "is outside of the root", "exit_code\":0",
			map[string]any{"command": "pwd", "working_directory": cmd.Dir + "/link/../../.."}},
		{"command-executor_execute_command", `/inside\n"`, "denied",
			map[string]any{"command": "pwd", "working_directory": "inside"}},
		{"command-executor_execute_command", `"exit_code":0`, "denied",
			map[string]any{"command": "pwd", "working_directory": ".."}},
		{"command-executor_execute_command", "not_found", "denied",
			map[string]any{"command": "pwd", "working_directory": "none"}},
	} {
		x.in["sandbox_id"] = host
		if words := fmt.Sprint(c.call(x.tool, x.in)["words"]); !strings.Contains(words, x.want) ||
			strings.Contains(words, x.not) {
			t.Errorf("%v: %s", x.in, words)
		}
	}
	record, err := filepath.Glob(filepath.Join(homeOf(cmd), "hako", "*.jsonl"))
	if err != nil || len(record) == 0 {
		t.Fatal(record, err)
	}
	if text, _ := os.ReadFile(record[0]); !strings.Contains(string(text), `"argv":["cd","--","/etc"]`) {
		t.Errorf("the refusal is not on record: %s", text)
	}
}

// TestMCPFetchHint: who is refused a page is told of the setting, and of no flag.
func TestMCPFetchHint(t *testing.T) {
	for _, prefixes := range []string{"[]", "[https://example.com/docs/]"} {
		cmd := hakoCommand(t, "mcp")
		settings := filepath.Join(cmd.Dir, "hako.yaml")
		if err := os.WriteFile(settings, []byte("web:\n  url_prefixes: "+prefixes+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, "--config", settings)
		words := fmt.Sprint(connect(t, &sdk.CommandTransport{Command: cmd}).call("web_fetch",
			map[string]any{"url": "https://example.com/"})["words"])
		if !strings.Contains(words, "web.url_prefixes in hako.yaml") || strings.Contains(words, "--allow-url") {
			t.Errorf("%s: %s", prefixes, words)
		}
	}
}
