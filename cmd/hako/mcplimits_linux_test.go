package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/audit"
	"hako/internal/app/access"
	"hako/internal/testload"
	"hako/internal/web/auth"
)

// recordOf reads the record of a hako that is running.
func recordOf(t *testing.T, cmd *exec.Cmd) (events []audit.Event) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(homeOf(cmd), "hako", "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("records: %v", files)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e audit.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestMCPFetchesAreOnRecord: whatever a client fetches, or would like to, is on
// record with who it was.
func TestMCPFetchesAreOnRecord(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<p>hello")
	}))
	defer web.Close()
	settings := filepath.Join(t.TempDir(), "hako.yaml")
	if err := os.WriteFile(settings, []byte("web: {url_prefixes: ["+web.URL+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := hakoCommand(t, "mcp", "--config", settings)
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	for url, refused := range map[string]bool{web.URL + "/page": false, web.URL + "/none": true,
		"http://169.254.169.254/keys": true} {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "web_fetch", Arguments: map[string]any{"url": url}})
		if err != nil || res.IsError != refused {
			t.Errorf("%s: %+v %v", url, res, err)
		}
	}
	got := map[string]string{}
	ids := map[string]string{}
	for _, e := range recordOf(t, cmd) {
		if e.What == audit.Asked {
			ids[e.ID] = e.Script
		}
		if ids[e.ID] != "" && e.Actor == "mcp:test" {
			got[ids[e.ID]] += e.What + " " + e.Path + e.Kind + ", "
		}
	}
	for url, want := range map[string]string{
		web.URL + "/page": "asked , opened " + web.URL + "/page, ended , ", web.URL + "/none": "asked , ended not_found, ",
		"http://169.254.169.254/keys": "asked , denied denied, ended denied, ",
	} {
		if did := got[`web_fetch {"url":"`+url+`"}`]; did != want {
			t.Errorf("%s: %q, want %q", url, did, want)
		}
	}
}

// fill writes a file of so many bytes in a sandbox, and returns why it could not.
func (c mcpClient) fill(id, name string, bytes int) string {
	c.Helper()
	out := c.call("execute", map[string]any{"sandbox_id": id, "command": fmt.Sprintf("head -c %d /dev/zero > %s", bytes,
		name)})
	if out["error"] == nil || out["error"] == false {
		return ""
	}
	return fmt.Sprint(out["error"])
}

// TestMCPMemoryOfACaller: many sandboxes of a caller hold no more than one may,
// and what a sandbox held is there again once it is destroyed.
func TestMCPMemoryOfACaller(t *testing.T) {
	cmd := hakoCommand(t, "mcp", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "HAKO_LIMIT_MEMORY=16MB")
	store := auth.Store{Path: filepath.Join(homeOf(cmd), "hako", "tokens.json")}
	mika, err := store.Add("mika", access.Client)
	if err != nil {
		t.Fatal(err)
	}
	address, told := overHTTP(t, cmd)
	c, other := connect(t, over(address, strings.TrimPrefix(told, "token "))), connect(t, over(address, mika))
	const each = 3 << 20
	var ids []string
	why := ""
	for why == "" && len(ids) < 100 {
		ids = append(ids, c.make(map[string]any{"kind": "virtual"}))
		why = c.fill(ids[len(ids)-1], "f", each)
	}
	if len(ids) < 4 || len(ids) > 6 || !strings.Contains(why, "exhausted") || !strings.Contains(why, "sandbox_destroy") ||
		!strings.Contains(why, "16 MB") {
		t.Errorf("%d sandboxes: %s", len(ids), why)
	}
	c.wants(ids[0], "wc -c < f", fmt.Sprint(each)) // who wrote before keeps it
	if why := other.fill(other.make(map[string]any{"kind": "virtual"}), "f", each); why != "" {
		t.Errorf("another caller: %s", why)
	}
	for range 10 { // nothing stays behind
		c.call("sandbox_destroy", map[string]any{"sandbox_id": ids[0]})
		ids[0] = c.make(map[string]any{"kind": "virtual"})
		if why := c.fill(ids[0], "f", each); why != "" {
			t.Fatalf("after one was destroyed: %s", why)
		}
	}
	c.wants(ids[0], "rm f && echo removed", "removed")
}

// TestMCPMemoryOfShells: the shells around programs have one memory as well.
func TestMCPMemoryOfShells(t *testing.T) {
	cmd := hakoCommand(t, "mcp")
	cmd.Env = append(cmd.Env, "HAKO_LIMIT_MEMORY=16MB")
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	why := ""
	n := 0
	for ; why == "" && n < 20; n++ {
		id := c.make(map[string]any{"kind": "host"})
		if out := c.call("execute",
			map[string]any{"sandbox_id": id, "command": "x=$(yes | head -c 3000000); echo ${#x}"}); out["error"] != nil &&
			out["error"] != false {
			why = fmt.Sprint(out["error"])
		}
	}
	if n < 2 || n > 6 || !strings.Contains(why, "exhausted") || !strings.Contains(why, "sandbox_destroy") {
		t.Errorf("%d sandboxes: %s", n, why)
	}
}

// TestMCPMemoryOfEdits: what the editor remembers counts too.
func TestMCPMemoryOfEdits(t *testing.T) {
	cmd := hakoCommand(t, "mcp")
	cmd.Env = append(cmd.Env, "HAKO_LIMIT_MEMORY=6MB")
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	id := c.make(map[string]any{"kind": "virtual"})
	c.wants(id, "yes x | head -c 1000000 > f; echo y >> f; echo done", "done")
	why := ""
	for i := 0; why == "" && i < 10; i++ {
		old, new := "y", "z"
		if i%2 == 1 {
			old, new = new, old
		}
		if out := c.call("text_editor", map[string]any{"sandbox_id": id, "command": "str_replace", "path": "f",
			"old_str": old, "new_str": new}); out["error"] != nil && out["error"] != false {
			why = fmt.Sprint(out["error"])
		}
	}
	if !strings.Contains(why, "exhausted") {
		t.Errorf("ten edits of a megabyte: %s", why)
	}
}

// TestMCPRemovedToken: what runs for a token ends soon after it was removed, and
// its sandboxes with it; others go on.
func TestMCPRemovedToken(t *testing.T) {
	cmd := hakoCommand(t, "mcp", "--http", "127.0.0.1:0", "--write", ".")
	store := auth.Store{Path: filepath.Join(homeOf(cmd), "hako", "tokens.json")}
	mika, err := store.Add("mika", access.Client)
	if err != nil {
		t.Fatal(err)
	}
	address, told := overHTTP(t, cmd)
	c, other := connect(t, over(address, mika)), connect(t, over(address, strings.TrimPrefix(told, "token ")))
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(cmd.Dir, name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	job := func(c mcpClient, kind, name string) {
		id := c.make(map[string]any{"kind": kind})
		c.call("job_start", map[string]any{"sandbox_id": id, "command": "while :; do echo x >> " + name +
			"; sleep 0.05; done"})
		for began := time.Now(); size(name) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > testload.Bound(20*time.Second) {
				t.Fatalf("the job of %s does not begin", name)
			}
		}
	}
	job(c, "virtual", "virtual")
	job(c, "host", "host")
	job(other, "virtual", "other")
	if err := store.Remove("mika"); err != nil {
		t.Fatal(err)
	}
	closed := func() (n int) {
		created := map[string]bool{}
		for _, e := range recordOf(t, cmd) {
			if e.What == audit.Asked && strings.HasPrefix(e.Script, "sandbox_create") &&
				strings.HasPrefix(e.Actor, "mcp:mika#") {
				created[e.ID] = true
			}
			if e.What == audit.Ended && created[e.ID] {
				n++
			}
		}
		return n
	}
	began := time.Now()
	for closed() < 2 {
		if time.Sleep(20 * time.Millisecond); time.Since(began) > testload.Bound(5*time.Second) {
			t.Fatalf("%d of 2 sandboxes are closed", closed())
		}
	}
	t.Logf("closed after %v", time.Since(began))
	virtual, host, going := size("virtual"), size("host"), size("other")
	time.Sleep(500 * time.Millisecond)
	if size("virtual") != virtual || size("host") != host || size("other") == going {
		t.Errorf("virtual wrote %d bytes, host %d, another caller %d", size("virtual")-virtual, size("host")-host,
			size("other")-going)
	}
}

// TestServeRemovedToken: at hako serve too the sandboxes of a token end with it.
func TestServeRemovedToken(t *testing.T) {
	h := serveHako(t, "steps: []")
	c := h.as(h.addToken("mika", "client")).client(t)
	id := c.make(map[string]any{"kind": "virtual"})
	c.call("job_start", map[string]any{"sandbox_id": id, "command": "sleep 1000"})
	if _, text := h.ask("GET", "/api/v1/boxes", ""); !strings.Contains(text, "mcp:mika#") {
		t.Fatalf("it is not there: %s", text)
	}
	store := auth.Store{Path: filepath.Join(h.dir, "hako", "tokens.json")}
	if err := store.Remove("mika"); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, text := h.ask("GET", "/api/v1/boxes", "")
		if !strings.Contains(text, "mcp:mika#") {
			break
		}
		if time.Since(began) > testload.Bound(5*time.Second) {
			t.Fatalf("it is still there: %s", text)
		}
	}
	h.stop()
}
