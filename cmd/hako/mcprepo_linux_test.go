package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// servedRepositories serves bare repositories that want a token.
func servedRepositories(t *testing.T, names ...string) (address, root string) {
	t.Helper()
	root = t.TempDir()
	for _, name := range names {
		at := filepath.Join(root, name+".git")
		script := `git init -q -b main . && git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m one && git clone -q --bare . "$0" && git -C "$0" config http.receivepack true`
		cmd := exec.Command("sh", "-c", script, at)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	server, err := serveGit(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server.URL, root
}

// TestMCPRepositories: a client has those repositories cloned with the user's
// token that the user listed, and pushes to none.
func TestMCPRepositories(t *testing.T) {
	needContainers(t)
	at, root := servedRepositories(t, "team/open", "team/secret")
	cmd := hakoCommand(t, "mcp")
	cmd.Env = append(cmd.Env, "EXECUTOR_EXTERNAL_ACCESS=true", "GITLAB_API_URL="+at+"/api/v4",
		"GITLAB_PERSONAL_ACCESS_TOKEN="+envToken,
		"HAKO_MCP_REPOSITORIES="+at+"/team/open")
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	for _, name := range []string{"team/secret.git", "team/secret", "team/open2", "team/open/../secret.git",
		"Team/Secret"} {
		out := c.call("sandbox_create", map[string]any{"kind": "container", "repository": at + "/" + name})
		if out["sandbox_id"] != nil || strings.Contains(fmt.Sprint(out), envToken) {
			t.Errorf("%s: %v", name, out)
		}
		if name == "team/secret.git" && !strings.Contains(fmt.Sprint(out["words"]), "mcp.repositories") {
			t.Errorf("the setting is not named: %v", out["words"])
		}
	}
	inside := c.make(map[string]any{"kind": "container", "repository": at + "/team/open.git"})
	c.wants(inside, "git fetch -q origin main && git log --oneline | wc -l", `"1\n"`)
	c.wants(inside, "python3 -c 'import subprocess; print(subprocess.run([\"git\", \"push\", \"origin\", \"HEAD:refs/heads/x\"], stderr=subprocess.STDOUT).returncode)'", "403")
	if refs, _ := exec.Command("git", "--git-dir", filepath.Join(root, "team/open.git"), "for-each-ref",
		"--format=%(refname)").Output(); string(refs) != "refs/heads/main\n" {
		t.Errorf("the repository has %s", refs)
	}
}

// TestMCPLessNetwork: a client may have less than the settings allow, of every
// kind, and not more.
func TestMCPLessNetwork(t *testing.T) {
	open := func(settings ...string) mcpClient {
		rules := filepath.Join(t.TempDir(), "rules")
		if err := os.WriteFile(rules, []byte("allow python3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := hakoCommand(t, "mcp", "--rules", rules)
		cmd.Env = append(cmd.Env, settings...)
		return connect(t, &sdk.CommandTransport{Command: cmd})
	}
	c := open("EXECUTOR_EXTERNAL_ACCESS=true", "HAKO_BASH_NETWORK=true")
	c.make(map[string]any{"network": "none"})
	host := c.make(map[string]any{"kind": "host", "network": "none"})
	interfaces := `python3 -c 'import socket; print([n for _, n in socket.if_nameindex() if n != "lo"])'`
	c.wants(host, interfaces, `"[]\n"`)
	if out := c.call("execute", map[string]any{"sandbox_id": c.make(map[string]any{"kind": "host"}),
		"command": interfaces}); out["exit_code"] != 0.0 || out["stdout_text"] == "[]\n" {
		t.Logf("this machine has no network itself: %v", out)
	}
	needContainers(t)
	for _, network := range []string{"none", "allow-list", "open"} {
		out := c.call("sandbox_create", map[string]any{"kind": "container", "network": network})
		if out["network"] != network {
			t.Errorf("%s: %v", network, out)
		}
	}
	closed := open("EXECUTOR_EXTERNAL_ACCESS=false")
	for network, refused := range map[string]bool{"none": false, "allow-list": true, "open": true, "host": true} {
		if out := closed.call("sandbox_create", map[string]any{"kind": "container", "network": network}); (out["sandbox_id"] == nil) != refused || !refused && out["network"] != network {
			t.Errorf("%s: %v", network, out)
		}
	}
}
