package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hako/packaging/man"
)

// Every command has a page that says what its help says.
func TestManPages(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HAKO_MODEL", home)
	if err := man.Write(Tree(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hako", "hako-run", "hako-env-up", "hako-agent-pause", "hako-completion-bash",
		"hako-exit-status", "hako-environment", "llmsh", "llmcmd", "aicli"} {
		if _, err := os.Stat(filepath.Join(dir, name+".1")); err != nil {
			t.Error(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), home) {
			t.Errorf("%s depends on the machine", filepath.Base(file))
		}
		if strings.Contains(string(text), " \\- \n") {
			t.Errorf("%s has no short description", filepath.Base(file))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hako-env-keep.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}

// What man shows can be copied: quotes, dashes, Japanese and columns are as they
// were, and it has nothing to complain about.
func TestManRendered(t *testing.T) {
	program, err := exec.LookPath("man")
	if err != nil || exec.Command("groff", "--version").Run() != nil && exec.Command("mandoc", "-V").Run() != nil {
		skipOrFailMan(t, "no man with a formatter")
	}
	dir := t.TempDir()
	if err := man.Write(Tree(), dir); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "hako*.1"))
	for _, file := range files {
		out, errs := renderPage(t, program, file)
		if errs != "" {
			t.Errorf("%s: %s", filepath.Base(file), errs)
		}
		if name := filepath.Base(file); name == "hako.1" {
			for _, want := range []string{`(箱, "box")`, `hako policy check "git -c alias.x='!id' x"`, "hako-exit-status(1)"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s does not show %s:\n%s", name, want, out)
				}
			}
		}
	}
}

func renderPage(t *testing.T, program, file string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	cmd := exec.Command(program, "--warnings", "-l", "-P", "cat", "-E", "UTF-8", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=120", "LC_ALL=C.UTF-8")
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", file, err, e.String())
	}
	return o.String(), e.String()
}

func skipOrFailMan(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
