package shell_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

var update = flag.Bool("update", false, "rewrite the expected output by asking bash")

// TestBash runs the scripts of testdata/bash by hako and, where there is one,
// by bash: what they print and how they end must be the same. A script named x
// has its expected output in x.out; bash wrote it.
func TestBash(t *testing.T) {
	files, _ := filepath.Glob("testdata/bash/*.txtar")
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	bash, _ := exec.LookPath("bash")
	if bash == "" && os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal("bash is required and not there")
	}
	// Who started us may ignore this signal (nohup); bash must not inherit that.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]string)
		for _, f := range ar.Files {
			want[f.Name] = string(f.Data)
		}
		var next []txtar.File
		for _, f := range ar.Files {
			if strings.HasSuffix(f.Name, ".out") {
				continue
			}
			src := string(f.Data)
			expect := want[f.Name+".out"]
			if *update {
				expect = askBash(t, bash, src)
			}
			next = append(next, f, txtar.File{Name: f.Name + ".out", Data: []byte(expect)})
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+f.Name, func(t *testing.T) {
				if got := askHako(t, src, filepath.Base(file) == "jobs.txtar"); got != expect {
					t.Errorf("script:\n%s\nhako:\n%s\nbash:\n%s", src, got, expect)
				}
				if bash != "" && !*update && !testing.Short() { // bash is not ours: a race detector finds nothing there
					if got := askBash(t, bash, src); got != expect {
						t.Errorf("bash itself says:\n%s\nnot:\n%s", got, expect)
					}
				}
			})
		}
		if *update {
			ar.Files = next
			if err := os.WriteFile(file, txtar.Format(ar), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// askBash runs a script by bash; args are $0 and the parameters.
func askBash(t *testing.T, bash, src string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(bash, append([]string{"--norc", "-c", src}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=/box", "TZ=UTC"}
	cmd.Stdout = &out
	_ = cmd.Run()
	return result(out.String(), cmd.ProcessState.ExitCode())
}

func askHako(t *testing.T, src string, jobs bool) string {
	t.Helper()
	var out, errs bytes.Buffer
	s := shell.New(shell.Options{Commands: command.All(), Jobs: jobs})
	res, err := s.Run(t.Context(), &run.Request{Script: src, Stdout: &out, Stderr: &errs})
	if err != nil {
		return result(out.String(), res.Exit) + "error: " + err.Error() + "\n"
	}
	if testing.Verbose() {
		t.Logf("stderr: %s", errs.String())
	}
	return result(out.String(), res.Exit)
}

// result appends the status, and ends the text so that txtar keeps it.
func result(out string, status int) string {
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\\\n"
	}
	return out + fmt.Sprintf("[%d]\n", status)
}
