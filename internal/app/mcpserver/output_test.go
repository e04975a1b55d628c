package mcpserver

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/redact"
	"hako/run"
	"hako/run/fault"
)

// TestReadingOn reads a long output page by page, in characters of three bytes,
// and checks that the command ran once.
func TestReadingOn(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	c := dial(t, overHTTP(t, d), "", "", nil)
	id := c.sandbox()
	const command = "echo x >> /tmp/runs; for i in $(seq 2000); do echo -n 日本語; done"
	var all strings.Builder
	for start, pages := 0.0, 0; ; pages++ {
		a, _ := c.call("execute", args{"sandbox_id": id, "command": command, "start": start, "size": 4000})
		text := a["stdout_text"].(string)
		if !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") || len(text) > 4000 || a["total_bytes"] != 18000.0 ||
			a["cache_hit"] != (start > 0) {
			t.Fatalf("page %d: %v", pages, a)
		}
		all.WriteString(text)
		if a["next_start"] == nil {
			if a["truncated"] != false {
				t.Errorf("got %v", a)
			}
			break
		}
		start = a["next_start"].(float64)
	}
	if all.String() != strings.Repeat("日本語", 2000) {
		t.Errorf("got %d bytes", all.Len())
	}
	if got := c.out(id, "wc -l < /tmp/runs"); got != "1\n" {
		t.Errorf("ran %q times", got)
	}
	c.out(id, command) // from the beginning it is run again
	if got := c.out(id, "wc -l < /tmp/runs"); got != "2\n" {
		t.Errorf("ran %q times", got)
	}
}

// TestForgottenOutput checks that reading on never runs a command again, and
// that a page of a command which never ran is a run like any other.
func TestForgottenOutput(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Limits: Limits{Logs: 1}})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	c.out(id, "seq 3000")
	c.out(id, "seq 4000")
	if a, _ := c.call("execute", args{"sandbox_id": id, "command": "seq 3000", "start": 4096}); kindOf(a) != "not_found" {
		t.Errorf("got %v", a)
	}
	if a, _ := c.call("execute", args{"sandbox_id": id, "command": "seq 10", "start": 18}); a["stdout_text"] != "10\n" {
		t.Errorf("got %v", a)
	}
}

// TestEndlessOutput checks that memory is bounded, and that pages beyond what is
// kept say so.
func TestEndlessOutput(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Limits: Limits{Log: 10000, LogTotal: 25000}})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	a, _ := c.call("execute", args{"sandbox_id": id, "command": "seq 100000"})
	if a["total_bytes"] != 588895.0 || a["truncated"] != true {
		t.Errorf("got %v", a)
	}
	if a, _ = c.call("execute", args{"sandbox_id": id, "command": "seq 100000", "start": 10000}); kindOf(
		a) != "too_large" || a["cache_hit"] != true {
		t.Errorf("got %v", a)
	}
	if a, _ = c.call("execute", args{"sandbox_id": id, "command": "seq 100001", "start": 20000}); kindOf(
		a) != "too_large" {
		t.Errorf("got %v", a)
	}
	a, _ = c.call("command-executor_execute_command", args{"command": "seq 100002"})
	if out := a["stdout"].(string); len(out) > tailSize+100 || !strings.HasSuffix(out, "\n100002\n") ||
		!strings.HasPrefix(out, "[572525 of 588909 bytes are not shown") {
		t.Errorf("%d bytes: %.80q", len(out), out)
	}
	if d.outputs.size > 25000 || len(d.outputs.order) > 2 {
		t.Errorf("%d bytes in %d outputs", d.outputs.size, len(d.outputs.order))
	}
	c.call("sandbox_destroy", args{"sandbox_id": id})
	if d.outputs.size != 0 || len(d.outputs.bySandbox) != 0 || len(d.outputs.order) != 0 {
		t.Errorf("%d bytes are left", d.outputs.size)
	}
}

// TestLogs reads cut outputs as resources.
func TestLogs(t *testing.T) {
	d := open(t, Options{Maker: newVirtual(""), Caller: byHeader})
	url := overHTTP(t, d)
	for _, version := range versions {
		c := dial(t, url, "ann", version, nil)
		id := c.sandbox()
		_, res := c.call("execute", args{"sandbox_id": id, "command": "seq 20000; seq 5000 >&2"})
		links := slices.DeleteFunc(slices.Clone(res.Content),
			func(x sdk.Content) bool { _, ok := x.(*sdk.ResourceLink); return !ok })
		if want := version >= "2025-06-18"; (len(links) == 1) != want {
			t.Errorf("%s: %d links", version, len(links))
		}
		uri := "hako://sandbox/" + id + "/logs/1"
		var all strings.Builder
		for next := uri; next != ""; {
			r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: next})
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			all.WriteString(r.Contents[0].Text)
			next = ""
			if at := r.Contents[0].Meta["next_offset"]; at != nil {
				next = fmt.Sprintf("%s?offset=%.0f", uri, at)
			}
		}
		if !strings.HasPrefix(all.String(), "1\n2\n") || !strings.HasSuffix(all.String(), "\n20000\n") ||
			all.Len() != 108894 {
			t.Errorf("%s: %d bytes", version, all.Len())
		}
		if r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri + "/stderr?offset=23888"}); err != nil ||
			r.Contents[0].Text != "5000\n" {
			t.Errorf("%s: %v %v", version, r, err)
		}
		bob := dial(t, url, "bob", version, nil)
		for who, bad := range map[*client][]string{bob: {uri}, c: {uri + "7", uri + "?offset=-1", uri + "/x",
			"hako://sandbox/" + id + "/logs/", "hako://sandbox/x/logs/1", "file:///etc/passwd"}} {
			for _, u := range bad {
				if r, err := who.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: u}); err == nil {
					t.Errorf("%s: %s: %v", version, u, r.Contents[0])
				}
			}
		}
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	var secrets redact.Set
	secrets.Add("swordfish99")
	d := open(t, Options{Maker: newVirtual(""), Secrets: &secrets})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	c.out(id, "echo word=sword''fish99 > a")
	read, _ := c.call("read_file", args{"sandbox_id": id, "path": "a"})
	command, _ := c.call("command-executor_execute_command", args{"command": "cat a >&2"})
	for _, got := range []any{c.out(id, "cat a"), read["text"], command["stderr"], command["stdout"]} {
		if strings.Contains(got.(string), "swordfish") {
			t.Errorf("got %q", got)
		}
	}
	executed, _ := c.call("execute", args{"sandbox_id": id, "command": "cat a a; cat a >&2"})
	for name, n := range map[*answer]float64{&read: 1, &command: 1, &executed: 3} {
		if a := *name; a["redacted"] != n ||
			!strings.Contains(fmt.Sprint(a["note"]), "redacted from the output: [redacted] stands") {
			t.Errorf("%v places were not told: %v", n, a)
		}
	}
	if plain, _ := c.call("execute", args{"sandbox_id": id, "command": "echo a"}); plain["redacted"] != 0.0 ||
		plain["note"] != nil {
		t.Errorf("got %v", plain)
	}
}

// TestCommandExecutor checks the spelling that agents know, and that it makes a
// sandbox where there is none.
func TestCommandExecutor(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	c := pipes(t, d, "", nil)
	const name = "command-executor_execute_command"
	a, _ := c.call(name, args{"command": "pwd; echo no >&2; exit 2", "working_directory": "/tmp"})
	if a["exit_code"] != 2.0 || a["stdout"] != "/tmp\n" || a["stderr"] != "no\n" || a["duration_ms"] == nil {
		t.Errorf("got %v", a)
	}
	if b, _ := c.call(name, args{"command": "echo"}); b["sandbox_id"] != a["sandbox_id"] {
		t.Errorf("another one was made: %v", b)
	}
	c.sandbox()
	if b, _ := c.call(name, args{"command": "echo"}); kindOf(b) != "invalid" ||
		!strings.Contains(fmt.Sprint(b), "did not say which") {
		t.Errorf("got %v", b)
	}
}

func TestTimeouts(t *testing.T) {
	d := open(t, Options{Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
		io.WriteString(req.Stdout, "so far")
		return run.Result{Exit: 124, TimedOut: true, Duration: 3 * time.Second}, nil
	})})
	c := pipes(t, d, "", nil)
	a, _ := c.call("execute", args{"sandbox_id": c.sandbox(), "command": "x"})
	if kindOf(a) != "timeout" || a["stdout_text"] != "so far" || a["exit_code"] != 124.0 || a["ok"] != false {
		t.Errorf("got %v", a)
	}
	a, res := c.call("command-executor_execute_command", args{"command": "x"})
	if a["exit_code"] != -1.0 || a["stderr"] != "\nCommand timeout after 3 seconds" || res.IsError {
		t.Errorf("got %v", a)
	}
}

// TestTimeoutText checks that a duration is written as people write it.
func TestTimeoutText(t *testing.T) {
	why := &fault.Error{Kind: fault.Timeout, Why: "it went over the limit time=10s"}
	for took, want := range map[time.Duration]string{
		46118 * time.Nanosecond:       "Command timeout after 0 seconds: it went over the limit time=10s",
		1500 * time.Microsecond:       "Command timeout after 0.002 seconds",
		30*time.Second + 4321:         "Command timeout after 30 seconds",
		1_000_000 * time.Second:       "Command timeout after 1000000 seconds",
		100*time.Second + 250_400_000: "Command timeout after 100.25 seconds",
	} {
		if got := timeoutMessage(took, why); got != want {
			t.Errorf("%v: %q", took, got)
		}
	}
	if got := timeoutMessage(0, nil); got != "Command timeout after 0 seconds" {
		t.Errorf("without an error: %q", got)
	}
}

// TestEachRunHasItsLog runs one command twice: both outputs stay, also where the
// second one is short, and reading on by the command means the last run.
func TestEachRunHasItsLog(t *testing.T) {
	runs := 0
	d := open(t, Options{Maker: fake(func(_ context.Context, req *run.Request) (run.Result, error) {
		runs++
		if strings.HasPrefix(req.Script, "short") && runs%2 == 0 {
			_, err := io.WriteString(req.Stdout, "short")
			return run.Result{}, err
		}
		_, err := io.WriteString(req.Stdout, fmt.Sprintf("run %d ", runs)+strings.Repeat("x", 100_000))
		return run.Result{}, err
	})})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	for _, command := range []string{"same", "short"} {
		runs = 0
		first, _ := c.call("command-executor_execute_command", args{"command": command, "sandbox_id": id})
		second, _ := c.call("command-executor_execute_command", args{"command": command, "sandbox_id": id})
		for i, log := range []any{first["log"], second["log"]} {
			if command == "short" && i == 1 {
				if log != nil {
					t.Errorf("%s: a short output has a log: %v", command, log)
				}
				continue
			}
			want := fmt.Sprintf("run %d ", i+1)
			res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: fmt.Sprint(log)})
			if err != nil || !strings.HasPrefix(res.Contents[0].Text, want) {
				t.Errorf("%s: log %d (%v): %v, %v", command, i+1, log, res, err)
			}
		}
		if first["log"] == second["log"] {
			t.Errorf("%s: both runs have the log %v", command, first["log"])
		}
	}
	runs = 0
	c.call("execute", args{"sandbox_id": id, "command": "paged"})
	c.call("execute", args{"sandbox_id": id, "command": "paged"})
	if page, _ := c.call("execute", args{"sandbox_id": id, "command": "paged", "start": 4}); page["cache_hit"] != true ||
		!strings.HasPrefix(page["stdout_text"].(string), "2 ") {
		t.Errorf("reading on is not about the last run: %v", page)
	}
}

// TestFailureOfARunner checks errors that are not ours, and a bug in a runner.
func TestFailureOfARunner(t *testing.T) {
	d := open(t, Options{Maker: fake(func(ctx context.Context, req *run.Request) (run.Result, error) {
		if req.Script == "panic" {
			panic("oh")
		}
		return run.Result{}, &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: "used up", Hint: "raise it",
			Err: io.ErrShortWrite}
	})})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	a, _ := c.call("execute", args{"sandbox_id": id, "command": "x"})
	if p := a.problem(); p["kind"] != "exhausted" || p["reason"] != "used up: short write" || p["hint"] != "raise it" ||
		a["exit_code"] != 126.0 {
		t.Errorf("got %v", a)
	}
	for range 2 { // the turn is given back
		if a, _ := c.call("execute", args{"sandbox_id": id, "command": "panic"}); kindOf(a) != "other" {
			t.Errorf("got %v", a)
		}
	}
}

func TestReadFile(t *testing.T) {
	d := open(t, Options{Maker: newVirtual("")})
	c := pipes(t, d, "", nil)
	id := c.sandbox()
	whole := strings.Repeat("日本語\n", 10000)
	c.call("write_file", args{"sandbox_id": id, "path": "/tmp/a", "text": whole})
	for _, size := range []int{1, 7, 1000, 65536} {
		var got strings.Builder
		for start, n := 0.0, 0; n < 300; n++ {
			a, _ := c.call("read_file", args{"sandbox_id": id, "path": "/tmp/a", "start": start, "size": size})
			if a["total_bytes"] != float64(len(whole)) || kindOf(a) != nil {
				t.Fatalf("got %v", a)
			}
			got.WriteString(a["text"].(string))
			if a["next_start"] == nil {
				break
			}
			start = a["next_start"].(float64)
		}
		if !strings.HasPrefix(whole, got.String()) || got.Len() < min(300, len(whole)) {
			t.Errorf("pages of %d: %d bytes", size, got.Len())
		}
	}
	c.out(id, `printf '\377\000' > b; mkdir d`)
	for path, kind := range map[string]string{"b": "invalid", "d": "not_found", "-n": "not_found",
		"a; echo x": "not_found"} {
		if a, _ := c.call("read_file", args{"sandbox_id": id, "path": path}); kindOf(a) != kind {
			t.Errorf("%s: %v", path, a)
		}
	}
}
