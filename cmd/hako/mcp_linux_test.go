package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/app/access"
	"hako/internal/testload"
	"hako/internal/web/auth"
)

// hakoCommand is hako as another process, in a home of its own.
func hakoCommand(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	state, err := os.MkdirTemp("", "hk") // sockets want short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	cmd := exec.Command(os.Args[0], words...)
	cmd.Args[0], cmd.Dir = "hako", t.TempDir()
	cmd.Env = append(os.Environ(), asHako+"=1", "HOME="+state, "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state,
		"EXECUTOR_EXTERNAL_ACCESS=false")
	return cmd
}

// An mcpClient is a client that we did not write.
type mcpClient struct {
	*testing.T
	*sdk.ClientSession
}

func (c mcpClient) call(name string, arguments map[string]any) map[string]any {
	c.Helper()
	res, err := c.CallTool(c.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	out := map[string]any{"error": res.IsError}
	text, _ := json.Marshal(res.StructuredContent)
	_ = json.Unmarshal(text, &out)
	for _, part := range res.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			out["words"] = t.Text
		}
	}
	return out
}

func (c mcpClient) make(arguments map[string]any) string {
	c.Helper()
	out := c.call("sandbox_create", arguments)
	id, _ := out["sandbox_id"].(string)
	if len(id) < 20 {
		c.Fatalf("sandbox_create %v: %v", arguments, out)
	}
	return id
}

// wants runs a command and wants a text in what it printed.
func (c mcpClient) wants(id, command, want string) {
	c.Helper()
	if out := c.call("execute", map[string]any{"sandbox_id": id, "command": command}); !strings.Contains(
		out["words"].(string), want) {
		c.Errorf("%s: %v", command, out)
	}
}

func connect(t *testing.T, transport sdk.Transport) mcpClient {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport,
		nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return mcpClient{t, session}
}

// TestMCP has a client of the official SDK work in the three kinds of sandboxes.
func TestMCP(t *testing.T) {
	c := connect(t, &sdk.CommandTransport{Command: hakoCommand(t, "mcp")})
	virtual := c.make(map[string]any{"kind": "virtual"})
	c.wants(virtual, "echo こんにちは | tee a.txt | wc -m", "6")
	c.wants(virtual, "cat a.txt", "こんにちは")
	other := c.make(map[string]any{"kind": "virtual"})
	c.wants(other, "cat a.txt", "No such file")
	if out := c.call("policy_check", map[string]any{"command": "sudo id"}); !strings.Contains(out["words"].(string),
		"deny") {
		t.Errorf("policy_check: %v", out)
	}
	host := c.make(map[string]any{"kind": "host"})
	c.wants(host, "touch made && ls", "made")
	c.wants(host, "sudo id", "denied")
	c.wants(host, "cat /etc/shadow", "denied")
	needContainers(t)
	inside := c.make(map[string]any{"kind": "container", "environment": "python"})
	c.wants(inside, "python3 -c 'print(6*7)' && id -u", `"42\n1000\n"`)
	if out := c.call("text_editor", map[string]any{"sandbox_id": inside, "command": "create",
		"path": "/workspace/project/x.py", "file_text": "print('はい')\n"}); out["error"] == true {
		t.Errorf("text_editor: %v", out)
	}
	c.wants(inside, "python3 x.py", "はい")
	job, _ := c.call("job_start", map[string]any{"sandbox_id": inside, "command": "python3 x.py"})["job_id"].(string)
	for range 50 {
		out := c.call("job_output", map[string]any{"sandbox_id": inside, "job_id": job})
		if out["exit_code"] != nil {
			if out["text"] != "はい\n" {
				t.Errorf("job_output: %v", out)
			}
			break
		}
	}
	if out := c.call("sandbox_destroy", map[string]any{"sandbox_id": inside}); out["error"] == true {
		t.Errorf("sandbox_destroy: %v", out)
	}
}

// TestMCPWithoutContainers: who has switched containers off for models, has done
// so for those of MCP clients too.
func TestMCPWithoutContainers(t *testing.T) {
	cmd := hakoCommand(t, "mcp")
	cmd.Env = append(cmd.Env, "COMMAND_EXECUTOR_ENABLED=false", "DOCKER_HOST=unix:///nowhere/docker.sock")
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	if out := c.call("sandbox_create", map[string]any{"kind": "container"}); !strings.Contains(fmt.Sprint(out["words"]),
		"command_executor.enabled is false") {
		t.Errorf("sandbox_create: %v", out)
	}
	c.make(map[string]any{"kind": "virtual"})
}

// TestMCPEditorAndJobs: what is edited and what runs in the background passes the
// sandbox's gate and is on record, whatever the kind.
func TestMCPEditorAndJobs(t *testing.T) {
	cmd := hakoCommand(t, "mcp")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("hush\n"), 0o644), os.Symlink(secret, filepath.Join(cmd.Dir, "out")),
		os.WriteFile(filepath.Join(cmd.Dir, "run.sh"), []byte("echo a\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	for _, kind := range []string{"virtual", "host"} {
		id := c.make(map[string]any{"kind": kind})
		c.edits(id)
		c.works(id)
	}
	host := c.make(map[string]any{"kind": "host"})
	for _, command := range []map[string]any{{"command": "view", "path": "out"},
		{"command": "str_replace", "path": "out", "old_str": "hush", "new_str": "x"}, {"command": "view", "path": secret},
		{"command": "create", "path": filepath.Join(filepath.Dir(secret), "new"), "file_text": "x"}} {
		command["sandbox_id"] = host
		if out := c.call("text_editor", command); !strings.Contains(fmt.Sprint(out["error"]), "denied") ||
			strings.Contains(fmt.Sprint(out["words"]), "hush") {
			t.Errorf("%v got out of the directory: %v", command, out)
		}
	}
	if text, err := os.ReadFile(secret); string(text) != "hush\n" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	c.call("text_editor", map[string]any{"sandbox_id": host, "command": "str_replace", "path": "run.sh", "old_str": "a",
		"new_str": "b"})
	if info, err := os.Stat(filepath.Join(cmd.Dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode is lost: %v %v", info, err)
	}
	record, err := filepath.Glob(filepath.Join(homeOf(cmd), "hako", "*.jsonl"))
	if err != nil || len(record) == 0 {
		t.Fatal(record, err)
	}
	text, _ := os.ReadFile(record[0])
	for _, want := range []string{"text_editor str_replace", "sleep 0.2; echo later"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not on record", want)
		}
	}
}

// edits uses the text editor in a sandbox.
func (c mcpClient) edits(id string) {
	c.Helper()
	for _, x := range []struct {
		want string
		in   map[string]any
	}{
		{"created", map[string]any{"command": "create", "path": "d/a.txt", "file_text": "one\r\ntwo\r\n"}},
		{"", map[string]any{"command": "str_replace", "path": "d/a.txt", "old_str": "two", "new_str": "zwei"}},
		{"zwei", map[string]any{"command": "view", "path": "d/a.txt"}},
		{"did not appear", map[string]any{"command": "str_replace", "path": "d/a.txt", "old_str": "drei"}},
		{"a.txt", map[string]any{"command": "view", "path": "d"}},
		{"undone", map[string]any{"command": "undo_edit", "path": "d/a.txt"}},
	} {
		x.in["sandbox_id"] = id
		if out := c.call("text_editor", x.in); !strings.Contains(fmt.Sprint(out["words"]), x.want) {
			c.Errorf("%v: %v", x.in, out)
		}
	}
	c.wants(id, "od -c d/a.txt", `t   w   o  \\r  \\n`)
}

// works uses jobs in a sandbox.
func (c mcpClient) works(id string) {
	c.Helper()
	job, _ := c.call("job_start", map[string]any{"sandbox_id": id, "command": "sleep 0.2; echo later",
		"reason": "a test"})["job_id"].(string)
	c.wants(id, "echo meanwhile", "meanwhile")
	if out := c.ended(id, job); out["text"] != "later\n" || out["exit_code"] != 0.0 {
		c.Errorf("job_output: %v", out)
	}
	endless, _ := c.call("job_start", map[string]any{"sandbox_id": id, "command": "sleep 1000"})["job_id"].(string)
	if out := c.call("job_kill", map[string]any{"sandbox_id": id, "job_id": endless}); out["state"] != "killed" {
		c.Errorf("job_kill: %v", out)
	}
	out := c.call("job_start", map[string]any{"sandbox_id": id, "command": "sudo id"})
	if job, ok := out["job_id"].(string); ok { // it took a while to find out
		out = c.ended(id, job)
	}
	if words := fmt.Sprint(out["words"]); !strings.Contains(words, "denied") &&
		!strings.Contains(words, "command not found") {
		c.Errorf("job_start sudo: %v", out)
	}
}

// ended waits for the end of a job.
func (c mcpClient) ended(id, job string) (out map[string]any) {
	c.Helper()
	for range 200 {
		if out = c.call("job_output", map[string]any{"sandbox_id": id, "job_id": job}); out["exit_code"] != nil {
			return out
		}
		time.Sleep(20 * time.Millisecond)
	}
	return out
}

// TestMCPJobsTakeLonger: a job has more time than a command.
func TestMCPJobsTakeLonger(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "hako.yaml")
	if err := os.WriteFile(settings, []byte("limits:\n  time: 300ms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t, &sdk.CommandTransport{Command: hakoCommand(t, "mcp", "--config", settings)})
	id := c.make(map[string]any{"kind": "virtual"})
	c.wants(id, "sleep 1; echo done", "300ms")
	job, _ := c.call("job_start", map[string]any{"sandbox_id": id, "command": "sleep 1; echo done"})["job_id"].(string)
	if out := c.ended(id, job); out["text"] != "done\n" {
		t.Errorf("job_output: %v", out)
	}
}

func homeOf(cmd *exec.Cmd) string {
	for _, pair := range cmd.Env {
		if home, ok := strings.CutPrefix(pair, "XDG_STATE_HOME="); ok {
			return home
		}
	}
	return ""
}

// overHTTP starts a server, and returns its address and what it says about its
// token.
func overHTTP(t *testing.T, cmd *exec.Cmd) (address, told string) {
	t.Helper()
	messages, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	lines := bufio.NewReader(messages)
	first, _ := lines.ReadString('\n')
	second, _ := lines.ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(first), "serving MCP at ")
	if !ok {
		t.Fatal(first)
	}
	return address, strings.TrimPrefix(strings.TrimSpace(second), "hako: ")
}

// bearer sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func over(address, token string) sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer(token)},
		DisableStandaloneSSE: true}
}

// stays checks that a token does not let in.
func stays(t *testing.T, address, token string) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	req.Header.Set("Content-Type", "application/json")
	res, err := bearer(token).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("Www-Authenticate") == "" {
		t.Errorf("%q: %s", token, res.Status)
	}
}

// TestMCPOverHTTP: who has the token gets in, and only from this machine. The
// operators of hako serve get in with theirs, and each sees their own sandboxes.
func TestMCPOverHTTP(t *testing.T) {
	cmd := hakoCommand(t, "mcp", "--http", "127.0.0.1:0")
	store := auth.Store{Path: filepath.Join(homeOf(cmd), "hako", "tokens.json")}
	mika, err := store.Add("mika", access.Operator)
	looker, lerr := store.Add("looker", access.Reader)
	if err = errors.Join(err, lerr); err != nil {
		t.Fatal(err)
	}
	address, told := overHTTP(t, cmd)
	token, ok := strings.CutPrefix(told, "token ")
	if !ok {
		t.Fatal(told)
	}
	for _, wrong := range []string{"", "wrong", token + "x", token[1:], looker} {
		stays(t, address, wrong)
	}
	c, other := connect(t, over(address, token)), connect(t, over(address, mika))
	id := c.make(map[string]any{"kind": "virtual"})
	c.wants(id, "echo hi", "hi")
	c.wants(id, "echo "+token, "[redacted]")
	other.wants(id, "echo hi", "not_found")
	if out := other.call("sandbox_list", nil); len(out["sandboxes"].([]any)) > 0 {
		t.Errorf("another's: %v", out)
	}
	out, err := hakoCommand(t, "mcp", "--http", "0.0.0.0:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not on this machine") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMCPTokens: a token of one's own stays the same; a bad one is refused.
func TestMCPTokens(t *testing.T) {
	const fixed = "0123456789abcdef0123456789abcdef"
	cmd := hakoCommand(t, "mcp", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "HAKO_MCP_TOKEN="+fixed)
	address, told := overHTTP(t, cmd)
	if strings.Contains(told, fixed) {
		t.Errorf("it is printed: %s", told)
	}
	stays(t, address, "")
	connect(t, over(address, fixed))

	file := filepath.Join(t.TempDir(), "mcp.token")
	address, _ = overHTTP(t, hakoCommand(t, "mcp", "--http", "127.0.0.1:0", "--token-file", file))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	connect(t, over(address, strings.TrimSpace(string(text))))
	address, _ = overHTTP(t, hakoCommand(t, "mcp", "--http", "127.0.0.1:0", "--token-file", file))
	connect(t, over(address, strings.TrimSpace(string(text))))

	address, _ = overHTTP(t, hakoCommand(t, "mcp", "--http", "127.0.0.1:0", "--no-token"))
	connect(t, over(address, ""))
	piped := hakoCommand(t, "mcp")
	piped.Env = append(piped.Env, "HAKO_MCP_TOKEN=x") // of no matter here
	connect(t, &sdk.CommandTransport{Command: piped})
	short := filepath.Join(t.TempDir(), "short")
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.WriteFile(short, []byte("abc"), 0o600),
		os.WriteFile(open, []byte(fixed), 0o644)); err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"can be guessed": {"--http", "127.0.0.1:0", "--token-file", short},
		"chmod":          {"--http", "127.0.0.1:0", "--token-file", open},
		"says otherwise": {"--http", "127.0.0.1:0", "--token-file", file, "--no-token"},
		"for --http":     {"--no-token"},
	} {
		if out, err := hakoCommand(t, append([]string{"mcp"}, words...)...).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), want) {
			t.Errorf("%v: %v %s", words, err, out)
		}
	}
}

// TestMCPKilled: what a server leaves behind that was killed with open sandboxes
// is removed by the next that starts; one that is stopped leaves nothing.
func TestMCPKilled(t *testing.T) {
	needContainers(t)
	cmd := hakoCommand(t, "mcp")
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir()) // what it leaves there goes with the test
	boxes := func() int {
		left, _ := os.ReadDir(filepath.Join(homeOf(cmd), "hako", "env", "boxes"))
		return len(left)
	}
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	inside := c.make(map[string]any{"kind": "container"})
	host := c.make(map[string]any{"kind": "host"})
	c.call("job_start", map[string]any{"sandbox_id": host, "command": "sleep 98765"})
	name := strings.TrimSpace(
		fmt.Sprint(c.call("execute", map[string]any{"sandbox_id": inside, "command": "hostname"})["stdout_text"]))
	_ = cmd.Process.Kill()
	_ = c.Close()
	if boxes() == 0 {
		t.Fatal("no container is on record")
	}
	next := hakoCommand(t, "mcp")
	next.Env = cmd.Env
	d := connect(t, &sdk.CommandTransport{Command: next})
	for end := time.Now().Add(testload.Bound(30 * time.Second)); boxes() > 0 &&
		time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
	}
	if left := boxes(); left > 0 {
		t.Errorf("%d containers are left", left)
	}
	if out, err := exec.Command("docker", "ps", "-aq", "--filter", "id="+name).Output(); err == nil && len(out) > 0 {
		t.Errorf("container %s is left: %s", name, out)
	}
	if out, _ := exec.Command("pgrep", "-f", "^sleep 98765").Output(); len(out) > 0 {
		t.Errorf("its job still runs: %s", out)
	}
	d.make(map[string]any{"kind": "container"})
	_ = d.Close()
	if left := boxes(); left > 0 {
		t.Errorf("%d containers are left by one that was stopped", left)
	}
}
