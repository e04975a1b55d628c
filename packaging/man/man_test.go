package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hako/internal/cli"
)

// Every command has a page that says what its help says.
func TestPages(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HAKO_MODEL", home)
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hako", "hako-run", "hako-env-up", "hako-agent-pause", "hako-completion-bash", "hako-exit-status", "hako-environment", "llmsh", "llmcmd", "aicli"} {
		if _, err := os.Stat(filepath.Join(dir, name+".1")); err != nil {
			t.Error(err)
		}
	}
	for _, p := range pages(cli.Tree()) {
		text := p.roff()
		if p.Short == "" {
			t.Errorf("%s says nothing about itself", p.CommandPath())
		}
		if strings.Contains(text, home) {
			t.Errorf("%s depends on the machine", p.file())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hako-env-keep.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`grep 'a|b' -- ~/x`: `grep \(aqa|b\(aq \-\- \(ti/x`,
		`.hidden`:           `\&.hidden`,
		`'quoted'`:          `\&\(aqquoted\(aq`,
		`C:\n`:              `C:\(rsn`,
		`箱 ^`:               `箱 \(ha`,
		"":                  ".sp",
	} {
		if got := escapeLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// What man shows can be copied: quotes, dashes, Japanese and columns are as they
// were, and it has nothing to complain about.
func TestRendered(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil || exec.Command("groff", "--version").Run() != nil && exec.Command("mandoc", "-V").Run() != nil {
		skipOrFail(t, "no man with a formatter")
	}
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "hako*.1"))
	for _, file := range files {
		out, errs := render(t, man, file)
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

func render(t *testing.T, man, file string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	cmd := exec.Command(man, "--warnings", "-l", "-P", "cat", "-E", "UTF-8", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=120", "LC_ALL=C.UTF-8")
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", file, err, e.String())
	}
	return o.String(), e.String()
}

func skipOrFail(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A page keeps flags that take a value apart from those that may.
func TestOptions(t *testing.T) {
	c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
	c.Flags().StringP("file", "f", "", "read `FILE`")
	c.Flags().String("continue", "", "go on with `NAME`")
	c.Flags().Lookup("continue").NoOptDefVal = "last"
	c.Flags().Int("count", 5, "list `N`")
	c.Flags().Bool("secret", false, "")
	_ = c.Flags().MarkHidden("secret")
	got := options(c.Flags())
	for _, want := range []string{`\fB\-f\fR, \fB\-\-file\fR \fIFILE\fR`, `\fB\-\-continue\fR[=\fINAME\fR]`, "list N (default 5)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, "secret") {
		t.Error("it shows a hidden flag")
	}
}
