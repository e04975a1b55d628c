package mcpserver

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outside is a command of the programs that scripts/mcptools.sh installs.
func outside(t *testing.T, program string, words ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("long: takes other programs")
	}
	dir := toolsDir()
	script := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(script); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatalf("no %s: scripts/mcptools.sh installs it", program)
		}
		t.Skipf("no %s: scripts/mcptools.sh installs it", program)
	}
	node := "node"
	if own, _ := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node")); len(own) > 0 {
		node = own[0]
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{script}, words...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1")
	return cmd
}

// toolsDir is where scripts/mcptools.sh installs.
func toolsDir() string {
	if dir := os.Getenv("HAKO_MCP_TOOLS"); dir != "" {
		return dir
	}
	cache, _ := os.UserCacheDir()
	return filepath.Join(cache, "hako-mcp-tools")
}

// TestConformance runs the protocol's own tests for servers, in all versions they
// know. testdata/conformance.yaml lists what does not apply, and why: one of these
// that passes is a failure too.
func TestConformance(t *testing.T) {
	t.Parallel()
	known, err := filepath.Abs(filepath.Join("testdata", "conformance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			d := playDoor()
			server := httptest.NewServer(d.Handler())
			defer func() {
				server.CloseClientConnections()
				server.Close()
				_ = d.Close(context.Background())
			}()
			text, err := outside(t, "conformance", "server", "--url", server.URL, "--suite", "all", "--spec-version", version,
				"--expected-failures", known).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			t.Log(regexp.MustCompile(`(?m)^Total: .*`).FindString(string(text)))
		})
	}
}

// TestInspector has the MCP Inspector, which nobody here wrote, use the server over
// both transports.
func TestInspector(t *testing.T) {
	t.Parallel()
	d := open(t, Options{Maker: newVirtual(""), Policy: judge{}, Caller: byHeader})
	url := overHTTP(t, d)
	play := func(words ...string) []byte {
		t.Helper()
		cmd := outside(t, "mcp-inspector", append([]string{"--cli"}, words...)...)
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", words, err, text)
		}
		return text
	}
	web := []string{url, "--transport", "http", "--header", "Authorization: Bearer ann"}
	pipe := []string{os.Args[0], "-e", "MCP_PLAY=stdio"}
	for _, way := range [][]string{web, pipe} {
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(play(append(way, "--method", "tools/list")...), &list); err != nil || len(list.Tools) < 13 {
			t.Errorf("%v: %v", err, list)
		}
		text := string(play(append(way, "--method", "tools/call", "--tool-name", "command-executor_execute_command",
			"--tool-arg", "command=echo こんにちは | wc -m")...))
		if !strings.Contains(text, `"stdout": "6\n"`) {
			t.Errorf("%s", text)
		}
	}
}
