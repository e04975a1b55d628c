package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// TestSandboxOfAnother checks that a foreign sandbox and none at all answer in
// the same words, whatever is asked of them.
func TestSandboxOfAnother(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader, Policy: judge{}})
	url := overHTTP(t, d)
	ann, bob := dial(t, url, "ann", "", nil), dial(t, url, "bob", "", nil)
	anns := ann.sandbox()
	unknown := d.newID("nobody")
	for _, c := range []struct {
		tool string
		more args
	}{
		{"execute", args{"command": "echo"}}, {"command-executor_execute_command", args{"command": "echo"}},
		{"text_editor", args{"command": "view", "path": "/"}}, {"read_file", args{"path": "a"}},
		{"write_file", args{"path": "a", "text": "b"}},
		{"list_files", args{}}, {"job_start", args{"command": "echo"}}, {"job_output", args{"job_id": "x"}},
		{"job_kill", args{"job_id": "x"}}, {"sandbox_destroy", args{}},
	} {
		var said [2]string
		for i, id := range []string{anns, unknown} {
			c.more["sandbox_id"] = id
			a, _ := bob.call(c.tool, c.more)
			if kindOf(a) != "not_found" {
				t.Errorf("%s: %v", c.tool, a)
			}
			said[i] = strings.ReplaceAll(fmt.Sprint(a), short(id), "ID")
		}
		if said[0] != said[1] {
			t.Errorf("%s tells them apart:\n%s\n%s", c.tool, said[0], said[1])
		}
	}
	if list, _ := bob.call("sandbox_list", nil); len(list["sandboxes"].([]any)) != 0 {
		t.Errorf("bob sees %v", list)
	}
	if got := ann.out(anns, "echo still here"); got != "still here\n" {
		t.Errorf("got %q", got)
	}
}

// TestStdioSandboxesArePrivate checks that each client over standard streams is
// a caller of its own.
func TestStdioSandboxesArePrivate(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	ann, bob := pipes(t, d, "", nil), pipes(t, d, "", nil)
	if a, _ := bob.call("execute", args{"sandbox_id": ann.sandbox(), "command": "echo"}); kindOf(a) != "not_found" {
		t.Errorf("got %v", a)
	}
}

func TestIDsCannotBeGuessed(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	seen := map[string]bool{}
	for range 1000 {
		id := d.newID("a")
		if chance := strings.Split(id, "-")[1]; len(chance)*5 < 128 || seen[chance] {
			t.Fatalf("%s", id)
		} else {
			seen[chance] = true
		}
		if !d.madeFor(id, "a") || d.madeFor(id, "b") {
			t.Fatalf("%s is not told", id)
		}
	}
}

func TestBadArguments(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Limits: Limits{Command: 1000, File: 100}})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	for _, b := range []struct {
		tool, in, kind, words string
	}{
		{"execute", `{"sandbox_id":7,"command":"ls"}`, "invalid", "sandbox_id is of type number, and should be string"},
		{"execute", `{"sandbox_id":"ID","command":["ls"]}`, "invalid", "command is of type array"},
		{"execute", `{"sandbox_id":"ID","command":"ls","start":"1"}`, "invalid",
			"start is of type string, and should be integer"},
		{"execute", `{"sandbox_id":"ID","command":"ls","start":1.5}`, "invalid", "start is of type number 1.5"},
		{"execute", `{"sandbox_id":"ID","command":"ls","start":-1}`, "invalid", "start is -1, below 0"},
		{"execute", `{"sandbox_id":"ID","command":"ls","size":4097}`, "invalid", "outside 1 to 4096"},
		{"execute", `{"sandbox_id":"ID","comand":"ls"}`, "invalid", `there is no argument "comand"`},
		{"execute", `{"sandbox_id":"ID","Command":"ls"}`, "invalid", `there is no argument "Command"`},
		{"execute", `{"sandbox_id":"ID"}`, "invalid", "command is missing"},
		{"execute", `{"sandbox_id":"ID","command":null}`, "invalid", "command is missing"},
		{"execute", `{"sandbox_id":"ID","command":"` + strings.Repeat("x", 1001) + `"}`, "too_large",
			"1001 bytes, and 1000 are allowed"},
		{"execute", `{"sandbox_id":"` + strings.Repeat("日", 5000) + `","command":"ls"}`, "not_found",
			"none of that sandbox_id"},
		{"execute", `{"sandbox_id":"../../etc","command":"ls"}`, "not_found", "none of that sandbox_id"},
		{"write_file", `{"sandbox_id":"ID","path":"a","text":"` + strings.Repeat("x", 101) + `"}`, "too_large", "101 bytes"},
		{"write_file", `{"sandbox_id":"ID","path":"a\u0000b","text":""}`, "invalid", "cannot be a path"},
		{"read_file", `{"sandbox_id":"ID","path":""}`, "invalid", "cannot be a path"},
		{"text_editor", `{"sandbox_id":3}`, "invalid", "should be a string"},
		{"sandbox_create", `{"kind":"virtual","files":[{"path":7}]}`, "invalid", "files.path is of type number"},
		{"sandbox_list", `{"all":true}`, "invalid", `there is no argument "all"`},
	} {
		a, _ := c.call(b.tool, json.RawMessage(strings.ReplaceAll(b.in, "ID", id)))
		p := a.problem()
		if p == nil || p["kind"] != b.kind || !strings.Contains(fmt.Sprint(p["reason"]), b.words) {
			t.Errorf("%s %s: %v", b.tool, short(b.in), a)
		}
		if p["hint"] == nil || p["retryable"] != false {
			t.Errorf("%s %s: %v", b.tool, short(b.in), p)
		}
	}
}

func TestUnicode(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	c := pipes(t, d, "2025-06-18", nil)
	id := c.sandbox()
	const word = "日本語 \u202e \U0001F600 '\"$`\\ é\t"
	c.call("write_file", args{"sandbox_id": id, "path": "dir/" + word, "text": word})
	a, _ := c.call("read_file", args{"sandbox_id": id, "path": "dir/" + word})
	list, _ := c.call("list_files", args{"sandbox_id": id, "path": "dir"})
	if a["text"] != word || fmt.Sprint(list["files"]) != fmt.Sprint(
		[]any{map[string]any{"name": word, "directory": false}}) {
		t.Errorf("read %v, list %v", a, list)
	}
	if got := c.out(id, "echo 漢字"); got != "漢字\n" {
		t.Errorf("got %q", got)
	}
}

// TestOneAtATime checks that commands in one sandbox wait for each other.
func TestOneAtATime(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	d := open(t, Options{Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return run.Result{}, nil
	})})
	c := dial(t, overHTTP(t, d), "", "", nil)
	id := c.sandbox()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { c.call("execute", args{"sandbox_id": id, "command": "x"}) })
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d at the same time", most)
	}
}

// waits is a command that waits for its context, and says so.
type waits struct {
	began, ended chan struct{}
}

func newWaits() *waits { return &waits{make(chan struct{}, 9), make(chan struct{}, 9)} }

func (w *waits) maker() fake {
	return func(ctx context.Context, req *run.Request) (run.Result, error) {
		w.began <- struct{}{}
		<-ctx.Done()
		w.ended <- struct{}{}
		return run.Result{}, ctx.Err()
	}
}

func (w *waits) over(t *testing.T, why string) {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Fatalf("%s: the command goes on", why)
	}
}

func TestBusySandboxIsRefusedClearly(t *testing.T) {
	w := newWaits()
	d := open(t, Options{Maker: w.maker(), Limits: Limits{Turn: 20 * time.Millisecond}})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go c.CallTool(ctx, &sdk.CallToolParams{Name: "execute", Arguments: args{"sandbox_id": id, "command": "x"}})
	<-w.began
	a, _ := c.call("execute", args{"sandbox_id": id, "command": "y"})
	if kindOf(a) != "unavailable" || a.problem()["retryable"] != true ||
		!strings.Contains(fmt.Sprint(a), "another command") {
		t.Errorf("got %v", a)
	}
	list, _ := c.call("sandbox_list", nil)
	if list["sandboxes"].([]any)[0].(map[string]any)["busy"] != true {
		t.Errorf("got %v", list)
	}
}

// TestCancelEndsTheCommand checks that a call which is cancelled ends its
// command, and the sandbox is free for the next.
func TestCancelEndsTheCommand(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		w := newWaits()
		d := open(t, Options{Maker: w.maker()})
		for way, c := range map[string]*client{"http": dial(t, overHTTP(t, d), "", version, nil),
			"stdio": pipes(t, d, version, nil)} {
			id := c.sandbox()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-w.began; cancel() }()
			if _, err := c.CallTool(ctx,
				&sdk.CallToolParams{Name: "execute", Arguments: args{"sandbox_id": id, "command": "x"}}); !errors.Is(err,
				context.Canceled) {
				t.Errorf("%s %s: %v", way, version, err)
			}
			w.over(t, way+" "+version)
		}
	}
}

// TestClientLeaves checks that the command of a client that is gone ends: one
// whose connection breaks, not one that says good-bye.
func TestClientLeaves(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		w := newWaits()
		d := open(t, Options{Maker: w.maker()})
		url := overHTTP(t, d)
		c := dial(t, url, "", version, nil)
		id := c.sandbox()
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"execute","arguments":{"sandbox_id":"` + id +
			`","command":"x"},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		if version != "2026-07-28" {
			body = strings.Replace(body,
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`, "", 1)
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		for k, v := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version,
			"Mcp-Session-Id": c.ID(), "Mcp-Method": "tools/call", "Mcp-Name": "execute", "Authorization": "Bearer x"} {
			req.Header.Set(k, v)
		}
		go func() { <-w.began; cancel() }()
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
		w.over(t, version)
	}
}

// TestPipeBreaks checks the same for standard streams; its sandboxes go, too.
func TestPipeBreaks(t *testing.T) {
	w := newWaits()
	d := open(t, Options{Maker: w.maker(), Limits: Limits{Grace: 50 * time.Millisecond}})
	in := newLines(oldHello, oldReady, oldCommand)
	over := make(chan error)
	go func() { over <- d.Stdio(context.Background(), in, &quiet{}) }()
	<-w.began
	in.hangUp()
	w.over(t, "pipe")
	if err := <-over; err != nil {
		t.Error(err)
	}
	if left := d.pick(func(*managedSandbox) bool { return true }); len(left) > 0 {
		t.Errorf("%d sandboxes are still there", len(left))
	}
}

// TestPiped checks that a script which writes everything and closes the pipe gets
// its answers.
func TestPiped(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	var out strings.Builder
	in := strings.NewReader(oldHello + "\n" + oldReady + "\n" + strings.Replace(oldCommand, `"x"`, `"echo $((6*7))"`, 1) +
		"\n")
	if err := d.Stdio(t.Context(), in, &out); err != nil {
		t.Error(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"stdout":"42\n"`) {
		t.Errorf("got %s", got)
	}
}

func TestNoClient(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	if err := d.Stdio(t.Context(), strings.NewReader("hello?\n"), &quiet{}); fault.KindOf(err) != fault.Invalid ||
		fault.Hint(err) == "" {
		t.Errorf("got %v", err)
	}
}

// TestDestroyedMeanwhile checks that destroying a sandbox ends what runs in it.
func TestDestroyedMeanwhile(t *testing.T) {
	w := newWaits()
	d := open(t, Options{Maker: w.maker()})
	c := dial(t, overHTTP(t, d), "", "", nil)
	id := c.sandbox()
	got := make(chan answer)
	go func() {
		a, _ := c.call("execute", args{"sandbox_id": id, "command": "x"})
		got <- a
	}()
	<-w.began
	c.call("sandbox_destroy", args{"sandbox_id": id})
	if a := <-got; kindOf(a) != "not_found" || !strings.Contains(fmt.Sprint(a), "destroyed meanwhile") {
		t.Errorf("got %v", a)
	}
}

// TestServerStops checks that a stopping server ends commands, closes sandboxes,
// and says so to whoever still comes.
func TestServerStops(t *testing.T) {
	w := newWaits()
	maker := newVirtual("")
	d := open(t, Options{Maker: makers{maker, w.maker()}})
	url := overHTTP(t, d)
	c, old, piped := dial(t, url, "", "", nil), dial(t, url, "", "2025-06-18", nil), pipes(t, d, "", nil)
	for _, c := range []*client{c, old, piped} {
		c.sandbox()
	}
	a, _ := c.call("sandbox_create", args{"kind": "host"})
	got := make(chan answer)
	go func() {
		a, _ := c.call("execute", args{"sandbox_id": a["sandbox_id"], "command": "x"})
		got <- a
	}()
	<-w.began
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	w.over(t, "stop")
	if a := <-got; kindOf(a) != "unavailable" || !strings.Contains(fmt.Sprint(a), "stopping") {
		t.Errorf("got %v", a)
	}
	if maker.made.Load() != 3 || maker.closed.Load() != 3 {
		t.Errorf("%d made, %d closed", maker.made.Load(), maker.closed.Load())
	}
	res, err := http.Post(url, "application/json", strings.NewReader("{}"))
	if err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%v %v", res, err)
	}
	res.Body.Close()
	if err := d.Stdio(t.Context(), strings.NewReader(""), &strings.Builder{}); err != errStopped {
		t.Errorf("got %v", err)
	}
}

// makers are one for virtual and one for other sandboxes.
type makers struct{ virtual, others Maker }

func (m makers) Make(ctx context.Context, caller string, w SandboxOptions) (Sandbox, error) {
	if w.Kind == Virtual {
		return m.virtual.Make(ctx, caller, w)
	}
	return m.others.Make(ctx, caller, w)
}

// TestStdioEndsWithItsContext checks that a client that never hangs up cannot
// keep the server.
func TestStdioEndsWithItsContext(t *testing.T) {
	w := newWaits()
	d := open(t, Options{Maker: w.maker()})
	ctx, cancel := context.WithCancel(t.Context())
	in := newLines(oldHello, oldReady, oldCommand)
	defer in.Close()
	over := make(chan error)
	go func() { over <- d.Stdio(ctx, in, &quiet{}) }()
	<-w.began
	cancel()
	w.over(t, "context")
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestWhoMayComeIn(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"nobody":         {"X-None", "", http.StatusUnauthorized},
		"foreign host":   {"Host", "evil.example", http.StatusForbidden},
		"foreign origin": {"Origin", "https://evil.example", http.StatusForbidden},
	} {
		req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
		if name != "nobody" {
			req.Header.Set("Authorization", "Bearer ann")
		}
		req.Header.Set(c.header, c.value)
		if c.header == "Host" {
			req.Host = c.value
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %v %v", name, res.StatusCode, err)
		}
		res.Body.Close()
	}
}

// TestSessionOfAnother checks that the session of an older client is of no use
// to another caller.
func TestSessionOfAnother(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	ann := dial(t, url, "ann", "2025-06-18", nil)
	for caller, status := range map[string]int{"bob": http.StatusForbidden, "ann": http.StatusOK} {
		req, _ := http.NewRequest(http.MethodPost, url,
			strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"sandbox_list","arguments":{}}}`))
		req.Header.Set("Authorization", "Bearer "+caller)
		req.Header.Set("Mcp-Session-Id", ann.ID())
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != status {
			t.Errorf("%s: %v %v", caller, res.Status, err)
		}
		res.Body.Close()
	}
}

func TestTooManySessions(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Limits: Limits{Sessions: 2}})
	url := overHTTP(t, d)
	dial(t, url, "", "2025-06-18", nil)
	dial(t, url, "", "2025-06-18", nil)
	tr := &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1}
	c := sdk.NewClient(&sdk.Implementation{Name: "x"}, nil)
	if s, err := c.Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"}); err == nil {
		s.Close()
		t.Error("a third one came in")
	}
	dial(t, url, "", "2026-07-28", nil).sandbox() // those have none
}
