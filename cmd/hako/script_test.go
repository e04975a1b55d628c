package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hako/internal/fakes"
)

// TestScripts runs the scripts of every folder of testdata: one folder an
// area, one script a behaviour.
func TestScripts(t *testing.T) {
	areas, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, area := range areas {
		if !area.IsDir() || area.Name() == "fuzz" || area.Name() == "env" ||
			area.Name() == "agent" { // TestEnvironments, TestAgent
			continue
		}
		t.Run(area.Name(), func(t *testing.T) {
			testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", area.Name()), Setup: prepare,
				Cmds: scriptCommands, RequireExplicitExec: true})
		})
	}
}

// prepare gives each script a home of its own, where records and settings go.
func prepare(env *testscript.Env) error {
	fakes.Setup(env)
	home := filepath.Join(env.WorkDir, ".home")
	env.Setenv("HOME", home)
	env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	env.Setenv("TZ", "UTC")
	env.Setenv(raceSetting, raceValue)
	env.Setenv("OLLAMA_HOST", "127.0.0.1:1") // nobody is there
	for _, name := range []string{"OPENAI_API_KEY", "AICLI_OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_API_KEY",
		"GOOGLE_CSE_CX", "BRAVE_API_KEY", "SEARXNG_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env.Setenv(name, "")
	}
	return os.Mkdir(home, 0o700)
}

// scriptCommands are what the scripts need beyond what testscript has.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status": expectStatus,
	"tear":   tear,
	"change": change,
	"spoil":  spoil,

	"fake":      fakes.Command,
	"fake-done": fakes.Done,
}

// expectStatus runs a program and wants it to end with a certain status:
// status 127 hako sh -c nope
func expectStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [arg...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = err.Error()
	}
	if want := args[0]; got != want && got != "exit status "+want {
		ts.Fatalf("ended with %s, want %s", got, want)
	}
}

// tear cuts the last bytes off a file, as a crash would.
func tear(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, args, func(b []byte) []byte { return b[:len(b)-10] })
}

// change changes one byte in the middle of a file.
func change(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, args, func(b []byte) []byte {
		b[len(b)/2] ^= 1
		return b
	})
}

// spoil adds a byte to a file that is no UTF-8.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, args, func(b []byte) []byte { return append([]byte("caf\xe9 "), b...) })
}

func edit(ts *testscript.TestScript, args []string, with func([]byte) []byte) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	ts.Check(os.WriteFile(name, with(b), 0o600))
}
