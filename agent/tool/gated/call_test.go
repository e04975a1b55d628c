package gated

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/agent/tool"
	"hako/audit"
	"hako/gate"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// world has two tools behind a gate, and remembers what they were called with.
type world struct {
	heard  []string
	tools  []tool.Tool
	record string
}

func newWorld(t *testing.T, rules string) *world {
	t.Helper()
	w := &world{record: filepath.Join(t.TempDir(), "audit.jsonl")}
	say := Tool{Tool: tool.Tool{Tool: llm.Tool{Name: "github_say"},
		Call: func(_ context.Context, arguments string) (string, error) {
			w.heard = append(w.heard, arguments)
			return "said", nil
		}}, Words: []string{"mcp", "github", "say"}}
	fail := Tool{Tool: tool.Tool{Tool: llm.Tool{Name: "github_fail"}, Call: func(context.Context, string) (string, error) {
		return "", &fault.Error{Kind: fault.Unavailable, Op: "call", Why: "the server has ended"}
	}}, Words: []string{"mcp", "github", "fail"}}
	counter, err := NewRunner([]Tool{say, fail})
	if err != nil {
		t.Fatal(err)
	}
	more, err := policy.Parse("own.policy", strings.NewReader(rules))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(w.record, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	g := gate.New(counter, gate.Options{Policy: policy.Outside().With(more), Budget: quota.New(quota.Unlimited()),
		Log: log})
	w.tools = Gated([]Tool{say, fail}, g, func() string { return "t/1" }, "model")
	return w
}

func (w *world) text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(w.record)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCallPassesTheGate(t *testing.T) {
	w := newWorld(t, "")
	text, err := w.tools[0].Call(t.Context(), `{ "text": "it's `+"`id` $(id) \\n 日本語"+`" }`)
	if err != nil || text != "said" {
		t.Fatal(text, err)
	}
	if want := `{"text":"it\u0027s ` + "`id` $(id) \\n 日本語" + `"}`; len(w.heard) != 1 || w.heard[0] != want {
		t.Errorf("the tool heard %q, want %q", w.heard, want)
	}
	if !strings.Contains(w.text(t), "mcp github say") {
		t.Error("the call is not on record")
	}
}

func TestCallDenied(t *testing.T) {
	w := newWorld(t, "deny mcp github say # only people talk there\n")
	_, err := w.tools[0].Call(t.Context(), `{"text":"x"}`)
	if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "only people talk there") {
		t.Errorf("got %v", err)
	}
	if len(w.heard) > 0 {
		t.Error("it was carried out")
	}
}

func TestCallAsksNobody(t *testing.T) {
	w := newWorld(t, "ask mcp github say # a person decides\n")
	if _, err := w.tools[0].Call(t.Context(), `{}`); fault.KindOf(err) != fault.Denied || len(w.heard) > 0 {
		t.Errorf("got %v, heard %q", err, w.heard)
	}
}

func TestCallFails(t *testing.T) {
	w := newWorld(t, "")
	if _, err := w.tools[1].Call(t.Context(), ``); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "the server has ended") {
		t.Errorf("got %v", err)
	}
	for _, arguments := range []string{`[1]`, `"x"`, `{"a":`, `nonsense`, `{} ; id`} {
		if _, err := w.tools[0].Call(t.Context(), arguments); fault.KindOf(err) != fault.Invalid || len(w.heard) > 0 {
			t.Errorf("%s: got %v, heard %q", arguments, err, w.heard)
		}
	}
}

func TestCounterTakesOnlyItsSpelling(t *testing.T) {
	counter, err := NewRunner(
		[]Tool{{Words: []string{"forge", "say"},
			Tool: tool.Tool{Call: func(context.Context, string) (string, error) { return "", errors.New("called") }}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"forge say", "forge say $x", `forge say "{}"`, "forge say '{}'; forge say '{}'",
		"a=1 forge say '{}'", "forge say '{}' > f", "forge say '{}' &", "! forge say '{}'", "$x say '{}'", `forge say $'{}'`,
		"forge other '{}'", "(forge say '{}')", ""} {
		f, err := policy.ParseScript(script)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := counter.Run(t.Context(), &run.Request{Script: script, Program: f}); err == nil ||
			err.Error() == "called" {
			t.Errorf("%q: got %v", script, err)
		}
	}
}

func TestNewRunnerRefuses(t *testing.T) {
	for _, list := range [][]Tool{{{Words: []string{"a", "b"}}, {Words: []string{"a", "b"}}}, {{Words: nil}},
		{{Words: []string{"a", "b c"}}}, {{Words: []string{"a", ""}}}, {{Words: []string{"a", "$x"}}}} {
		if _, err := NewRunner(list); err == nil {
			t.Errorf("%v was taken", list)
		}
	}
}

// FuzzSpelled: whatever a model writes, the command is one command, and its
// argument means the same JSON.
func FuzzSpelled(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"it's"}`, `{"a":"\n'; id '"}`, `{"'":'}`, "{\"a\":\"\u2028\"}",
		`{"a":"\u0027"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		script, err := spelled(Tool{Words: []string{"mcp", "s", "t"}}, arguments)
		if err != nil {
			return
		}
		file, err := policy.ParseScript(script)
		if err != nil {
			t.Fatalf("%q: %v", script, err)
		}
		argv, err := words(file)
		if err != nil || len(argv) != 4 || argv[2] != "t" {
			t.Fatalf("%q: %q, %v", script, argv, err)
		}
		again, err := spelled(Tool{Words: []string{"mcp", "s", "t"}}, argv[3])
		if err != nil || again != script {
			t.Fatalf("%q became %q: %v", script, again, err)
		}
	})
}
