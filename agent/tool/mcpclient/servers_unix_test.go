//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hako/agent/tool/gated"
	"hako/internal/redact"
	"hako/internal/testload"
	"hako/run/fault"
)

// fake is a server that this test binary plays.
func fake(kind string) Server {
	return Server{Name: "fake", Command: []string{os.Args[0]},
		Env: map[string]string{"FAKE_MCP": kind, "GORACE": "atexit_sleep_ms=0"}}
}

// A scribe keeps what is logged.
type scribe struct {
	mu    sync.Mutex
	lines []string
}

func (s *scribe) log(server, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, server+": "+line)
}

func (s *scribe) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func open(t *testing.T, o Options, servers ...Server) *Servers {
	t.Helper()
	p, err := Open(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err, fault.Hint(err))
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// ask calls a tool of a party.
func ask(t *testing.T, p *Servers, name, arguments string) (string, error) {
	t.Helper()
	tools := p.Tools()
	i := slices.IndexFunc(tools, func(c gated.Tool) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no tool %s", name)
	}
	return tools[i].Call(t.Context(), arguments)
}

func answered(t *testing.T, p *Servers, name, arguments string) string {
	t.Helper()
	text, err := ask(t, p, name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return text
}

// failed checks the kind and the words of an error, and that it has a hint.
func failed(t *testing.T, err error, kind fault.Kind, words string) {
	t.Helper()
	e, ok := err.(*fault.Error)
	if !ok || e.Kind != kind || !strings.Contains(e.Error(), words) {
		t.Errorf("got %T %v, want %v: %s", err, err, kind, words)
	}
}

func alive(pid string) bool {
	n, _ := strconv.Atoi(pid)
	return n > 0 && syscall.Kill(n, 0) == nil && !zombie(pid)
}

// zombie reports whether a process has ended and waits for its parent: in a
// container nobody may care for orphans.
func zombie(pid string) bool {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

func gone(t *testing.T, pid string) {
	t.Helper()
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s is still there", pid)
}

func TestTools(t *testing.T) {
	s := fake("good")
	s.Tools = []string{"echo", "pid"}
	p := open(t, Options{}, s)
	tools := p.Tools()
	if len(tools) != 2 {
		t.Fatalf("%d tools", len(tools))
	}
	echo := tools[0]
	if echo.Name != "fake_echo" || strings.Join(echo.Words, " ") != "mcp fake echo" || echo.Text != "says it again" ||
		echo.Stateful {
		t.Errorf("%+v", echo)
	}
	if pid := tools[1]; !pid.Stateful || pid.Text != "pid" {
		t.Errorf("%+v", pid)
	}
	var schema struct {
		Type       string
		Properties map[string]any
	}
	if err := json.Unmarshal(echo.Schema, &schema); err != nil || schema.Type != "object" ||
		schema.Properties["text"] == nil {
		t.Errorf("%s %v", echo.Schema, err)
	}
	if _, err := gated.NewRunner(tools); err != nil {
		t.Error(err)
	}
	if got := answered(t, p, "fake_echo", `{"text":"<a>"}`); got != "you said <a>" {
		t.Error(got)
	}
	if one, two := answered(t, p, "fake_pid", ""), answered(t, p, "fake_pid", "{}"); one != two {
		t.Errorf("processes %s and %s", one, two)
	}
}

func TestResults(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	want := "one\n[image, image/png, 10 bytes: not shown]\n[audio, audio/wav, 20 bytes: not shown]\n[link to a: file:///a]\n" +
		"[resource, application/zip, file:///b, 30 bytes: not shown]\n[file:///c]\ncontent of c\ntwo"
	if got := answered(t, p, "fake_mixed", "{}"); got != want {
		t.Errorf("%q", got)
	}
	if got := answered(t, p, "fake_structured", "{}"); got != `{"count":3,"html":"<b>"}`+
		"\n[image, image/png, 1 bytes: not shown]" {
		t.Errorf("%q", got)
	}
	if got := answered(t, p, "fake_nothing", "{}"); got != "[it answered with nothing]" {
		t.Errorf("%q", got)
	}
	large := answered(t, p, "fake_large", "{}")
	if len(large) > maxOutput+100 || !strings.HasPrefix(large, "begin ") || !strings.HasSuffix(large, " end") ||
		!strings.Contains(large, "bytes left out: ask for less") {
		t.Errorf("%d bytes: %.100s", len(large), large)
	}
	_, err := ask(t, p, "fake_fail", "{}")
	failed(t, err, fault.Invalid, "call fake fail: no such repository, password=[redacted]")
}

func TestArguments(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	for _, arguments := range []string{"null", "[]", "{", `"x"`, "text", "{} {}"} {
		_, err := ask(t, p, "fake_echo", arguments)
		failed(t, err, fault.Invalid, "no JSON object")
		if fault.Hint(err) == "" {
			t.Errorf("%s: no hint", arguments)
		}
	}
	_, err := ask(t, p, "fake_echo", `{"text":1}`)
	failed(t, err, fault.Invalid, "text")
}

// TestEnvironment checks that a server gets nothing of ours but what it needs,
// and that its own secrets do not come back from it.
func TestEnvironment(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "of-the-agent-itself")
	t.Setenv("OPENAI_API_KEY", "also-ours")
	s := fake("good")
	s.Env["ITS_TOKEN"], s.Env["MODE"] = "only-the-server-knows", "readonly"
	p := open(t, Options{}, s)
	got := answered(t, p, "fake_env", "{}")
	for _, want := range []string{"PATH=", "MODE=readonly", "ITS_TOKEN=[redacted]"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for _, never := range []string{"ITHUB", "OPENAI", "ours", "only-the-server-knows"} {
		if strings.Contains(got, never) {
			t.Errorf("%s in %s", never, got)
		}
	}
}

func TestKnownSecrets(t *testing.T) {
	secrets := &redact.Set{}
	secrets.Add("swordfish-7")
	s := fake("good")
	s.Env["DB_PASSWORD"] = "only-the-server-knows"
	p := open(t, Options{Secrets: secrets}, s)
	if got := answered(t, p, "fake_echo", `{"text":"swordfish-7"}`); !strings.HasPrefix(got,
		"you said [redacted]\n[1 secret was redacted") {
		t.Error(got)
	}
	if got := secrets.Text("it is only-the-server-knows"); strings.Contains(got, "only") {
		t.Error("what is secret in the settings is not told to others:", got)
	}
}

// TestDeath has a server that ends in the middle of calls.
func TestDeath(t *testing.T) {
	var s scribe
	p := open(t, Options{Log: s.log}, fake("good"))
	first := answered(t, p, "fake_pid", "{}")
	_, err := ask(t, p, "fake_exit", "{}")
	failed(t, err, fault.Unavailable, "use MCP server fake: it ended with status 7: out of memory")
	if !strings.Contains(fault.Hint(err), "started again") {
		t.Error(fault.Hint(err))
	}
	if second := answered(t, p, "fake_pid", "{}"); second == first {
		t.Error("the server was not started again")
	}
	for range 2 { // the first of these is a new chance, since it had answered
		_, err = ask(t, p, "fake_exit", "{}")
		failed(t, err, fault.Unavailable, "it ended with status 7")
	}
	_, err = ask(t, p, "fake_pid", "{}")
	failed(t, err, fault.Unavailable, "it ended again after it was started anew")
	if !strings.Contains(s.text(), "fake: out of memory") || strings.Count(s.text(), "it is started again") != 2 {
		t.Error(s.text())
	}
}

// TestKilled has a server that dies between two calls, which nobody need notice.
func TestKilled(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	pid := answered(t, p, "fake_pid", "{}")
	n, _ := strconv.Atoi(pid)
	syscall.Kill(n, syscall.SIGKILL)
	gone(t, pid)
	<-p.members[0].link.lost.Done()
	if again := answered(t, p, "fake_pid", "{}"); again == pid {
		t.Error("still", pid)
	}
}

func TestClose(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	server, child := answered(t, p, "fake_pid", "{}"), answered(t, p, "fake_spawn", "{}")
	if !alive(child) {
		t.Fatal("no child")
	}
	p.Close()
	p.Close()
	gone(t, server)
	gone(t, child)
	_, err := ask(t, p, "fake_pid", "{}")
	failed(t, err, fault.Unavailable, "the MCP servers are closed")
}

// TestEscaped has a child that left the group of its server and keeps its streams
// open: it cannot be ended, but nobody waits for it.
func TestEscaped(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	child := answered(t, p, "fake_escape", "{}")
	began := time.Now()
	p.Close()
	if took := time.Since(began); took > linger+time.Second {
		t.Errorf("it took %v", took)
	}
	n, _ := strconv.Atoi(child)
	syscall.Kill(n, syscall.SIGKILL)
}

// TestStubborn has a server that ends neither with its input nor when told to.
func TestStubborn(t *testing.T) {
	var s scribe
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Open(ctx, []Server{fake("stubborn")}, Options{Log: s.log})
	if err != nil {
		t.Fatal(err)
	}
	pid := p.members[0].pid(t)
	began := time.Now()
	cancel()
	p.close() // waits for what the end of the context began
	if took := time.Since(began); took < 2*grace || took > 3*grace {
		t.Errorf("it took %v", took)
	}
	gone(t, pid)
	if !strings.Contains(s.text(), "still here") {
		t.Error(s.text())
	}
}

// pid finds the program of a member.
func (m *serverConn) pid(t *testing.T) string {
	t.Helper()
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat")
		env, _ := os.ReadFile("/proc/" + d.Name() + "/environ")
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) &&
			strings.Contains(string(env), "FAKE_MCP="+m.Env["FAKE_MCP"]) {
			return d.Name()
		}
	}
	t.Skip("there is no /proc")
	return ""
}

func TestTimeout(t *testing.T) {
	s := fake("good")
	s.Timeout = 100 * time.Millisecond
	p := open(t, Options{}, s)
	_, err := ask(t, p, "fake_slow", "{}")
	failed(t, err, fault.Timeout, "call fake slow: it did not answer within 100ms")
	if got := answered(t, p, "fake_echo", `{"text":"a"}`); got != "you said a" {
		t.Error(got)
	}
}

func TestCancelled(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.members[0].call(ctx, "slow", "{}")
	if err != context.DeadlineExceeded {
		t.Error(err)
	}
}

// TestClosedMeanwhile closes the party under a call.
func TestClosedMeanwhile(t *testing.T) {
	p := open(t, Options{}, fake("good"))
	done := make(chan error)
	go func() {
		_, err := p.members[0].call(context.Background(), "slow", "{}")
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	p.Close()
	failed(t, <-done, fault.Unavailable, "closed")
}

func TestTogether(t *testing.T) {
	two := fake("good")
	two.Name = "two"
	p := open(t, Options{}, fake("good"), two)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			name, text := []string{"fake_echo", "two_echo"}[i%2], strconv.Itoa(i)
			if got := answered(t, p, name, `{"text":"`+text+`"}`); got != "you said "+text {
				t.Error(got)
			}
		})
	}
	wg.Wait()
}

// TestBadServers has those that cannot be used at all.
func TestBadServers(t *testing.T) {
	missing := Server{Name: "fake", Command: []string{"no-such-program-anywhere"}}
	few := fake("good")
	few.Tools = []string{"ecko"}
	for _, tt := range []struct {
		name   string
		server Server
		kind   fault.Kind
		want   string
	}{
		{"missing", missing, fault.NotFound, "there is no program no-such-program-anywhere"},
		{"directory", Server{Name: "fake", Command: []string{t.TempDir()}}, fault.Unavailable,
			"its program cannot be started: "},
		{"silent", fake("silent"), fault.Timeout, "start MCP server fake: it did not answer in time"},
		{"quits", fake("quits"), fault.Unavailable,
			"start MCP server fake: it ended with status 3: no database: password=[redacted]"},
		{"garbage", fake("garbage"), fault.Timeout, "it does not speak MCP: Welcome to the shop!"},
		{"listless", fake("listless"), fault.Unavailable, "start MCP server fake: "},
		{"endless", fake("endless"), fault.Unavailable, "it lists more than 10000 tools"},
		{"choice", few, fault.NotFound, "offer tool fake ecko: the server has no such tool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Open(t.Context(), []Server{tt.server}, Options{Start: 3 * time.Second})
			if err == nil {
				p.Close()
			}
			failed(t, err, tt.kind, tt.want)
			if fault.Hint(err) == "" {
				t.Error("no hint")
			}
		})
	}
}

// TestOneBad checks that a good server does not outlive a bad one's start.
func TestOneBad(t *testing.T) {
	var s scribe
	bad := fake("quits")
	bad.Name = "bad"
	_, err := Open(t.Context(), []Server{fake("good"), bad}, Options{Log: s.log})
	failed(t, err, fault.Unavailable, "start MCP server bad")
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, []Server{fake("silent")}, Options{}); err == nil {
		t.Error("it opened")
	}
}

// TestOddServers has those that are bad in ways that real ones are, and work.
func TestOddServers(t *testing.T) {
	for _, kind := range []string{"greets", "strict"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var s scribe
			p := open(t, Options{Log: s.log}, fake(kind))
			if got := answered(t, p, "fake_do", "{}"); got != "done" {
				t.Error(got)
			}
			if kind == "greets" && (!strings.Contains(s.text(), "fake: not a message: Listening on stdio…") ||
				strings.Count(s.text(), "not a message") != 3) {
				t.Error(s.text())
			}
		})
	}
}

// TestMute has a server that does not answer what it does not know.
func TestMute(t *testing.T) {
	t.Parallel()
	p := open(t, Options{}, fake("mute"))
	if got := answered(t, p, "fake_do", "{}"); got != "done" {
		t.Error(got)
	}
}

func TestFlood(t *testing.T) {
	p := open(t, Options{}, fake("flood"))
	_, err := ask(t, p, "fake_do", "{}")
	failed(t, err, fault.Unavailable, "it sent more than 16 MB at once")
}

// TestDeaf has a server that stops reading: a large call must not hang in the
// pipe to it.
func TestDeaf(t *testing.T) {
	s := fake("deaf")
	s.Timeout = 300 * time.Millisecond
	p := open(t, Options{}, s)
	_, err := ask(t, p, "fake_do", "{}")
	failed(t, err, fault.Timeout, "did not answer within")
	began := time.Now()
	_, err = ask(t, p, "fake_do", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	if err == nil || time.Since(began) > testload.Bound(5*time.Second) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestAsks checks that a server gets nothing of us, and that its tools stay.
func TestAsks(t *testing.T) {
	var s scribe
	p := open(t, Options{Log: s.log}, fake("asks"))
	if got := answered(t, p, "fake_do",
		"{}"); got != `method not found: "sampling/createMessage"; method not found: "elicitation/create"; method not found: "roots/list"` {
		t.Error(got)
	}
	for range 100 {
		if strings.Contains(s.text(), "its tools changed") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, want := range []string{"fake: it asked for sampling/createMessage and was refused", "elicitation/create",
		"roots/list", "fake: its tools changed"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("no %s in %s", want, s.text())
		}
	}
	p = open(t, Options{}, fake("wants"))
	_, err := ask(t, p, "fake_do", "{}")
	failed(t, err, fault.Invalid, "wants to ask the user")
	p = open(t, Options{}, fake("broken"))
	_, err = ask(t, p, "fake_do", "{}")
	failed(t, err, fault.Unavailable, "use MCP server fake: ")
}

func TestStandardError(t *testing.T) {
	var s scribe
	server := fake("talks")
	server.Env["MY_TOKEN"] = "zebra-and-more"
	p := open(t, Options{Log: s.log}, server)
	for range 200 {
		if strings.Contains(s.text(), "left out") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.Close()
	text := s.text()
	for _, never := range []string{"zebra", "MIIabcdef", "\x1b", "\u200b", "line 1500"} {
		if strings.Contains(text, never) {
			t.Errorf("%q was logged", never)
		}
	}
	lines := strings.Split(text, "\n")
	if lines[0] != "fake: token=[redacted]" || lines[1] != "fake: ab" || len(lines[2]) > maxLine+20 ||
		len(lines) != maxLines+1 {
		t.Errorf("%d lines: %.200q", len(lines), lines)
	}
}

func names(p *Servers) (list []string) {
	for _, t := range p.Tools() {
		list = append(list, t.Name)
	}
	return list
}

func TestList(t *testing.T) {
	if got := strings.Join(names(open(t, Options{}, fake("pages"))), " "); got != "fake_a fake_b fake_c fake_d fake_e" {
		t.Error(got)
	}
	long := strings.Repeat("long", 30)
	p := open(t, Options{}, fake(`[{"name":"a b.c/d$é","inputSchema":{}},{"name":"`+long+`1","inputSchema":{}},{"name":"`+
		long+`2","inputSchema":{}},{"name":"","inputSchema":{}},null]`))
	got := names(p)
	if len(got) != 3 || got[0] != "fake_a_b_c_d__" || len(got[1]) != 64 || len(got[2]) != 64 || got[1] == got[2] {
		t.Error(got)
	}
	if words := p.Tools()[0].Words; words[2] != "a_b.c/d__" {
		t.Error(words)
	}
	_, err := Open(t.Context(), []Server{fake(`[{"name":"a.b","inputSchema":{}},{"name":"a_b","inputSchema":{}}]`)},
		Options{})
	failed(t, err, fault.Invalid, "offer tool fake_a_b: two tools have this name: fake a.b and fake a_b")
}

func TestTooMany(t *testing.T) {
	var list, some []string
	for i := range 129 {
		list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i))
		some = append(some, fmt.Sprintf("t%d", i))
	}
	s := fake("[" + strings.Join(list, ",") + "]")
	_, err := Open(t.Context(), []Server{s}, Options{})
	failed(t, err, fault.Invalid, "there are 129, and models take at most 128")
	if hint := fault.Hint(err); !strings.Contains(hint, "tools: in mcp_servers (fake has 129)") {
		t.Error(hint)
	}
	s.Tools = some[1:]
	if got := len(open(t, Options{}, s).Tools()); got != 128 {
		t.Error(got)
	}
}

func TestSchemas(t *testing.T) {
	big := strings.Repeat("x", maxSchema)
	var s scribe
	file := filepath.Join(t.TempDir(), "tools.json")
	list := `[
		{"name":"none"},{"name":"text","inputSchema":"x"},{"name":"list","inputSchema":{"type":"array"}},
		{"name":"big","inputSchema":{"type":"object","description":"` + big + `"}},
		{"name":"bare","inputSchema":{"properties":{"\u200ba":{"description":"hid\u200bden\u202e <b>"}}}},
		{"name":"spoken","description":"  A\u200btool\u0007.\n\udb40\udc41` + big + `","inputSchema":{"type":"object"}}]`
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, Options{Log: s.log}, fake("@"+file))
	tools := p.Tools()
	for i := range 4 {
		if got := string(tools[i].Schema); got != anything {
			t.Errorf("%s: %.100s", tools[i].Name, got)
		}
	}
	if got := string(tools[4].Schema); got != `{"properties":{"a":{"description":"hidden <b>"}},"type":"object"}` {
		t.Error(got)
	}
	if got := tools[5].Text; !strings.HasPrefix(got, "Atool.\nxxx") || len(got) > maxText ||
		!strings.HasSuffix(got, "x…") {
		t.Errorf("%d %.100q", len(got), got)
	}
	if strings.Count(s.text(), "left out") != 4 {
		t.Error(s.text())
	}
}

func TestMistakes(t *testing.T) {
	program := []string{"x"}
	for _, tt := range []struct {
		servers []Server
		want    string
	}{
		{[]Server{{Command: program}}, "its name"},
		{[]Server{{Name: "a_b", Command: program}}, "use MCP server a_b: its name is not of letters, digits and dashes"},
		{[]Server{{Name: "é", Command: program}}, "its name"},
		{[]Server{{Name: "a"}}, "a command or a url"},
		{[]Server{{Name: "a", Command: program, URL: "http://x"}}, "not both"},
		{[]Server{{Name: "a", Command: []string{""}}}, "empty"},
		{[]Server{{Name: "a", URL: "ftp://x"}}, "its url"},
		{[]Server{{Name: "a", URL: "http://"}}, "its url"},
		{[]Server{{Name: "a", URL: "http://x", Env: map[string]string{"A": "b"}}}, "env is for a command"},
		{[]Server{{Name: "a", Command: program, Header: map[string]string{"A": "b"}}}, "headers are for a url"},
		{[]Server{{Name: "a", Command: program, Env: map[string]string{"A=B": "b"}}}, "a name that cannot be"},
		{[]Server{{Name: "a", Command: program, Timeout: -1}}, "below zero"},
		{[]Server{{Name: "a", Command: program}, {Name: "a", Command: program}}, "the same name"},
	} {
		_, err := Open(t.Context(), tt.servers, Options{})
		failed(t, err, fault.Invalid, tt.want)
	}
	if p := open(t, Options{}); len(p.Tools()) != 0 {
		t.Error(p.Tools())
	}
}

func TestCheck(t *testing.T) {
	for _, s := range []Server{{Name: "a", Command: []string{"sh"}}, {Name: "b", URL: "http://127.0.0.1:1"}} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	err := Server{Name: "c", Command: []string{"no-such-program-here"}}.Check()
	if fault.KindOf(err) != fault.NotFound || fault.Hint(err) == "" {
		t.Error(err)
	}
}
