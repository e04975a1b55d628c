package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
	"hako/internal/app/questions"
	"hako/internal/testload"
)

// A neighbour is another hako of the same user.
type neighbour struct {
	*exec.Cmd
	said  bytes.Buffer // all that it prints
	ended chan struct{}
}

// beside starts another hako of the same user, without a terminal.
func (h *served) beside(args ...string) *neighbour {
	h.t.Helper()
	return h.besideReading(nil, args...)
}

func (h *served) besideReading(in *os.File, args ...string) *neighbour {
	h.t.Helper()
	n := &neighbour{Cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	n.Env, n.Dir, n.Stdout, n.Stderr = h.cmd.Env, h.dir, &n.said, &n.said
	if in != nil {
		n.Stdin = in
	}
	if err := n.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = n.Wait()
		close(n.ended)
	}()
	h.t.Cleanup(func() {
		_ = n.Process.Kill()
		<-n.ended
	})
	return n
}

// ends wants it to end with a status, having said something.
func (n *neighbour) ends(t *testing.T, status int, words ...string) {
	t.Helper()
	select {
	case <-n.ended:
	case <-time.After(testload.Bound(20 * time.Second)):
		t.Fatal("does not end")
	}
	if got := n.ProcessState.ExitCode(); got != status {
		t.Errorf("ended with %d, want %d", got, status)
	}
	for _, w := range words {
		if !strings.Contains(n.said.String(), w) {
			t.Errorf("does not say %q:\n%s", w, n.said.String())
		}
	}
}

// asked waits for a question, and returns it.
func (h *served) asked() questions.Question {
	h.t.Helper()
	id := h.question()
	var list struct{ Questions []questions.Question }
	_, text := h.ask("GET", "/api/v1/approvals", "")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Questions) != 1 || list.Questions[0].ID != id {
		h.t.Fatalf("%v: %s", err, text)
	}
	return list.Questions[0]
}

func (h *served) answer(id string, a gate.Answer) {
	h.t.Helper()
	if status, text := h.ask("POST", "/api/v1/approvals/"+id+"/answer",
		fmt.Sprintf(`{"answer":%q}`, a.String())); status >= 300 {
		h.t.Errorf("answer: %d %s", status, text)
	}
}

// unasked waits until there is no question.
func (h *served) unasked() {
	h.t.Helper()
	waitFor(h.t, func() bool {
		_, text := h.ask("GET", "/api/v1/approvals", "")
		return strings.Contains(text, `"questions":[]`)
	})
}

// recorded wants something on record.
func (h *served) recorded(words ...string) {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "hako", "audit.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
lines:
	for line := range strings.Lines(string(text)) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		return
	}
	h.t.Errorf("nothing on record has %q:\n%s", words, text)
}

const asksAboutTouch = "ask touch # it makes files\n"

// serveRules starts hako serve with rules, which lie in its home.
func serveRules(t *testing.T, text string) *served {
	t.Helper()
	h := serveHako(t, "steps: []")
	if err := os.WriteFile(filepath.Join(h.dir, "rules"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAskedElsewhere: who has nobody to ask asks at the page, and gets the answer.
func TestAskedElsewhere(t *testing.T) {
	h := serveRules(t, asksAboutTouch)
	touch := []string{"host", "exec", "--root", "proj", "--rules", "rules", "--", "touch made && ls"}
	n := h.beside(touch...)
	q := h.asked()
	if who := fmt.Sprintf("user (process %d)", n.Process.Pid); q.Actor != who || q.Command != "touch made" ||
		q.Session != "" || q.Dir != filepath.Join(h.dir, "proj") || q.Why != "it makes files" {
		t.Errorf("the page shows %+v", q)
	}
	h.answer(q.ID, gate.Once)
	n.ends(t, 0, "hako: waiting for an answer at the page of hako serve: touch made\n", "made\n")
	h.recorded(`"ordered"`, "ask a person: touch made", q.Actor)
	h.recorded(`"answered"`, "a person approved it once", q.Actor)
	h.recorded(`"ordered"`, "serve:operator", "answer question "+q.ID+" once: touch made")
	h.recorded(`"approved"`, `"user"`, "a person approved it once")

	n = h.beside(touch...)
	q = h.asked()
	h.answer(q.ID, gate.No)
	n.ends(t, 5, "denied touch made: a person said no")
	h.recorded(`"answered"`, "a person said no", q.Actor)

	n = h.beside("sh", "--rules", "rules", "-c", "touch a && ls")
	h.answer(h.asked().ID, gate.Once)
	n.ends(t, 0, "a\n")
	n = h.beside("exec", "--rules", "rules", "touch a")
	n.ends(t, 5) // which never was a matter for a person
	h.unasked()
	h.stop()
	h.beside(touch...).ends(t, 5, "a person must approve it, and nobody is there to ask",
		"hint: run it where a person can answer, or change the rule")
}

// TestAskedForAModel: what a model wants in hako run is asked at the page.
func TestAskedForAModel(t *testing.T) {
	h := serveRules(t, "ask grep # it searches\n")
	if err := os.WriteFile(filepath.Join(h.dir, "a.txt"), []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := h.beside("run", "--rules", "rules", "--model", "builtin", "--file", "a.txt", "how many lines are in a.txt?")
	q := h.asked()
	if !strings.HasPrefix(q.Actor, "model (process ") {
		t.Errorf("it is asked by %s", q.Actor)
	}
	h.answer(q.ID, gate.Once)
	n.ends(t, 0, "2 lines")
	h.stop()
}

// TestAskedForClients: a hako mcp that a client started asks at the page while
// that is there, and nobody otherwise.
func TestAskedForClients(t *testing.T) {
	h := serveRules(t, asksAboutTouch)
	cmd := exec.Command(os.Args[0], "mcp", "--root", "proj", "--rules", "rules")
	cmd.Env, cmd.Dir = h.cmd.Env, h.dir
	c := connect(t, &sdk.CommandTransport{Command: cmd})
	id := c.make(map[string]any{"kind": "host"})
	done := make(chan map[string]any, 1)
	run := func(command string) {
		go func() { done <- c.call("execute", map[string]any{"sandbox_id": id, "command": command}) }()
	}
	run("touch made && ls")
	q := h.asked()
	if !strings.HasPrefix(q.Actor, "mcp:") || !strings.HasSuffix(q.Actor, fmt.Sprintf(" (process %d)", cmd.Process.Pid)) {
		t.Errorf("it is asked by %s", q.Actor)
	}
	h.answer(q.ID, gate.Session)
	if out := <-done; !strings.Contains(out["words"].(string), "made") {
		t.Errorf("approved: %v", out)
	}
	run("touch made && echo again") // without a question
	if out := <-done; !strings.Contains(out["words"].(string), "again") {
		t.Errorf("approved for the session: %v", out)
	}

	run("touch other")
	h.asked()
	began := time.Now()
	_ = h.cmd.Process.Kill()
	out := <-done
	if took := time.Since(began); took > testload.Bound(time.Second) ||
		!strings.Contains(out["words"].(string), "it ended before anybody had answered") {
		t.Errorf("the page is gone: after %v: %v", took, out)
	}
	_ = h.cmd.Wait() // its socket is closed, too
	run("touch third")
	if out := <-done; !strings.Contains(out["words"].(string), "this client cannot put questions to a person") ||
		!strings.Contains(out["words"].(string), "use a client that can ask a person (elicitation)") {
		t.Errorf("nobody is there: %v", out)
	}
}

// TestAskerDies: its question vanishes.
func TestAskerDies(t *testing.T) {
	h := serveRules(t, asksAboutTouch)
	n := h.beside("host", "exec", "--root", "proj", "--rules", "rules", "--", "touch made")
	q := h.asked()
	_ = n.Process.Signal(syscall.SIGKILL)
	h.unasked()
	if status, text := h.ask("POST", "/api/v1/approvals/"+q.ID+"/answer", `{"answer":"once"}`); status != 404 ||
		!strings.Contains(text, "who asked has gone") {
		t.Errorf("answered late: %d %s", status, text)
	}
	h.recorded(`"answered"`, "who asked has gone", q.Actor)
	h.recorded(`"answered"`, "serve:operator", "who asked has gone", `"not_found"`) // what came of answering it
	h.stop()
}

// Tries to get at the socket, in Perl and in Python.
const (
	knockPerl = `use Socket; my ($s, $at); $at = "SOCKET";
socket($s, AF_UNIX, SOCK_STREAM, 0) and connect($s, sockaddr_un($at)) and print "reached\n" or print "out of reach: $!\n";
print "seen\n" if -e $at;
`
	knockPython = `import os, socket
try: socket.socket(socket.AF_UNIX).connect("SOCKET"); print("reached")
except OSError as e: print("out of reach:", e)
if os.path.exists("SOCKET"): print("seen")
`
)

// TestHatchIsOutOfReach: no sandboxed program gets at the socket, and none is
// started in a root in which it lies.
func TestHatchIsOutOfReach(t *testing.T) {
	h := serveRules(t, "allow perl\nallow python3\n")
	h.cmd.Env = append(h.cmd.Env, "HOME="+t.TempDir()) // no home may be a root
	socket := filepath.Join(h.dir, "hako", "hatch", "ask")
	perl := []byte(strings.ReplaceAll(knockPerl, "SOCKET", socket))
	if err := errors.Join(os.WriteFile(filepath.Join(h.dir, "knock.pl"), perl, 0o600),
		os.WriteFile(filepath.Join(h.dir, "proj", "knock.pl"), perl, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("perl", filepath.Join(h.dir, "knock.pl")).CombinedOutput(); err != nil ||
		string(out) != "reached\nseen\n" {
		t.Fatalf("it cannot be reached at all: %v\n%s", err, out)
	}
	t.Run("host", func(t *testing.T) {
		n := h.beside("host", "exec", "--root", "proj", "--rules", "rules", "--", "perl knock.pl")
		n.ends(t, 0, "out of reach: ")
		if strings.Contains(n.said.String(), "seen") {
			t.Error("it can be seen")
		}
		h.beside("host", "exec", "--root", ".", "--rules", "rules", "--", "perl knock.pl").ends(t, 2,
			"hako keeps its own record or state there")
	})
	t.Run("landlock only", h.knockWithoutNamespaces)
	t.Run("container", func(t *testing.T) {
		needContainers(t)
		c := connect(t, &sdk.CommandTransport{Command: hakoCommand(t, "mcp", "--rules", filepath.Join(h.dir, "rules"))})
		id := c.make(map[string]any{"kind": "container", "environment": "python"})
		c.call("text_editor", map[string]any{"sandbox_id": id, "command": "create", "path": "/workspace/project/knock.py",
			"file_text": strings.ReplaceAll(knockPython, "SOCKET", socket)})
		c.wants(id, "python3 knock.py", `No such file or directory\n","stderr_text":""`) // and not a word more
	})
	h.unasked()
	h.stop()
}

// knockWithoutNamespaces tries it where only Landlock and seccomp confine.
func (h *served) knockWithoutNamespaces(t *testing.T) {
	const without = `echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"`
	if err := exec.Command("unshare", "-Ur", "sh", "-c", without, "sh", "true").Run(); err != nil {
		missing(t, "namespaces cannot be taken away here")
	}
	for root, want := range map[string]string{".": "hako keeps its own record or state there", "proj": "out of reach: "} {
		cmd := exec.Command("unshare", "-Ur", "sh", "-c", without, "sh", os.Args[0], "host", "exec", "--root", root,
			"--rules", "rules", "--", "perl knock.pl")
		cmd.Env, cmd.Dir = h.cmd.Env, h.dir
		if out, _ := cmd.CombinedOutput(); !bytes.Contains(out, []byte(want)) || bytes.Contains(out, []byte("reached")) {
			t.Errorf("%s: %s", root, out)
		}
	}
}

// TestAskedForJobs: what the secretary has in the background is asked at the page,
// as the keyboard is taken.
func TestAskedForJobs(t *testing.T) {
	h := serveHako(t, "{models: [qwen3], steps: [{on: ollama, text: '{}'}]}")
	if err := os.WriteFile(filepath.Join(h.dir, "rules"), []byte(asksAboutTouch), 0o600); err != nil {
		t.Fatal(err)
	}
	said, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	n := h.besideReading(said, "secretary", "--no-audio", "--root", "proj", "--rules", "rules")
	fmt.Fprintln(hold, "@bg touch made")
	h.answer(h.asked().ID, gate.Once)
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(h.dir, "proj", "made")); return err == nil })
	hold.Close()
	n.ends(t, 0, "job-")
	h.stop()
}
