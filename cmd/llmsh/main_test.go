package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"llmsh": main}) }

// TestScripts runs the scripts of hako sh with llmsh in its place: they behave alike.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	names, err := filepath.Glob("../hako/testdata/sh/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d scripts, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		own := strings.ReplaceAll(string(text), "hako sh", "llmsh")
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: prepare, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": expectStatus}})
}

// prepare gives each script a home of its own, where records and settings go.
func prepare(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	env.Setenv("HOME", home)
	env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	env.Setenv("TZ", "UTC")
	return os.Mkdir(home, 0o700)
}

// expectStatus runs a program and wants it to end with a certain status.
func expectStatus(ts *testscript.TestScript, _ bool, args []string) {
	got := "exit status 0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = err.Error()
	}
	if want := "exit status " + args[0]; got != want {
		ts.Fatalf("ended with %s, want %s", got, want)
	}
}

// TestSize keeps llmsh a small program.
func TestSize(t *testing.T) {
	const most = 20 << 20
	file := filepath.Join(t.TempDir(), "llmsh")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("llmsh has %d bytes, the limit is %d", info.Size(), most)
	}
}
