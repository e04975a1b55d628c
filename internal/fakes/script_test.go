package fakes

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A trial is a test that may fail without failing the one it runs in.
type trial struct {
	failed bool
	log    strings.Builder
}

func (t *trial) Skip(...any)                          { runtime.Goexit() }
func (t *trial) Fatal(args ...any)                    { t.Log(args...); t.FailNow() }
func (t *trial) Parallel()                            {}
func (t *trial) Log(args ...any)                      { fmt.Fprintln(&t.log, args...) }
func (t *trial) FailNow()                             { t.failed = true; runtime.Goexit() }
func (t *trial) Verbose() bool                        { return false }
func (t *trial) Run(_ string, f func(t testscript.T)) { t.aside(func() { f(t) }) }

// aside runs f where it may stop the goroutine.
func (t *trial) aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// TestScript checks that scripts find the fake and fail when they should.
func TestScript(t *testing.T) {
	const scenario = "\n-- sc.yaml --\nsteps: [{on: page, path: /pages/a}]\n-- none.yaml --\nsteps: []\n"
	tests := []struct {
		name, script string
		fails        string // what the log says; empty means that it passes
	}{
		{"used", "fake sc.yaml\nget /pages/a\nfake-done", ""},
		{"used, without done", "fake sc.yaml\nget /pages/a", ""},
		{"unused", "fake sc.yaml\nfake-done", "step 1 (page) was never asked for"},
		{"unused, without done", "fake sc.yaml", "step 1 (page) was never asked for"},
		{"twice", "fake sc.yaml\nget /pages/a\nfake-done\nfake none.yaml\nfake-done", ""},
		{"second unused", "fake none.yaml\nfake-done\nfake sc.yaml", "step 1 (page) was never asked for"},
		{"both at once", "fake none.yaml\nfake none.yaml", "a fake is running already"},
		{"script fails by itself", "fake sc.yaml\nnosuch", "unknown command"},
		{"bad scenario", "fake bad.yaml\n-- bad.yaml --\nx: y", "field x not found"},
		{"no argument", "fake", "usage: fake FILE"},
		{"done without fake", "fake-done", "usage: fake-done"},
		{"environment", "fake sc.yaml\nhas FAKE_URL\nhas OLLAMA_HOST\nlacks BRAVE_API_KEY\nget /pages/a", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.txtar")
			if err := os.WriteFile(file, []byte(tt.script+scenario), 0o600); err != nil {
				t.Fatal(err)
			}
			trial := &trial{}
			trial.aside(func() { testscript.RunT(trial, params(t, file, true)) })
			if log := trial.log.String(); trial.failed != (tt.fails != "") || !strings.Contains(log, tt.fails) {
				t.Errorf("failed: %t\n%s", trial.failed, log)
			}
		})
	}
}

// TestScriptWithoutSetup checks that a fake does not run where nobody would
// hear about violations.
func TestScriptWithoutSetup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.txtar")
	if err := os.WriteFile(file, []byte("fake x.yaml\n-- x.yaml --\nsteps: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trial := &trial{}
	trial.aside(func() { testscript.RunT(trial, params(t, file, false)) })
	if !trial.failed || !strings.Contains(trial.log.String(), "does not call fakes.Setup") {
		t.Error(trial.log.String())
	}
}

func params(t *testing.T, file string, setup bool) testscript.Params {
	return testscript.Params{
		Files: []string{file},
		Setup: func(env *testscript.Env) error {
			if setup {
				Setup(env)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fake": Command, "fake-done": Done,
			"get": func(ts *testscript.TestScript, _ bool, args []string) {
				s := &Server{url: ts.Getenv("FAKE_URL")}
				if g := ask(t, s, "GET "+args[0], ""); g.status != 200 {
					ts.Fatalf("%+v", g)
				}
			},
			"has": func(ts *testscript.TestScript, _ bool, args []string) {
				if ts.Getenv(args[0]) == "" {
					ts.Fatalf("no %s", args[0])
				}
			},
			"lacks": func(ts *testscript.TestScript, _ bool, args []string) {
				if ts.Getenv(args[0]) != "" {
					ts.Fatalf("there is %s", args[0])
				}
			},
		},
	}
}
