//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/internal/fakes"
	"hako/internal/testload"
)

const slowScenario = `
key: sk-test-0123456789abcdef
steps:
- on: responses
  pieces: ["The first half ", "is here, ", "the second never comes"]
  piece_delay_ms: 1500
`

// TestCtrlC checks that a run ends at once and cleanly when it is interrupted,
// with what was said kept on the screen and in the conversation.
func TestCtrlC(t *testing.T) {
	sc, err := fakes.Parse(slowScenario)
	if err != nil {
		t.Fatal(err)
	}
	server := fakes.Start(sc)
	defer server.Close()
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], "run", "--model", "responses:m", "--continue", "tell me")
	cmd.Env = append(os.Environ(), asHako+"=1", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Env = append(cmd.Env, server.Env()...)
	cmd.Dir = home
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	first, err := out.ReadString(' ')
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	began := time.Now()
	cmd.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(out)
	cmd.Wait()
	if took := time.Since(began); took > testload.Bound(1*time.Second) {
		t.Errorf("it took %v to end", took)
	}
	if got := first + string(rest); !strings.HasPrefix(got, "The first half") || !strings.HasSuffix(got, "\n") {
		t.Errorf("printed %q", got)
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "hako: interrupted") {
		t.Errorf("status %d: %s", code, &stderr)
	}
	kept, err := os.ReadFile(filepath.Join(home, "hako", "threads", "last.json"))
	if err != nil || !strings.Contains(string(kept), "The first half") {
		t.Errorf("kept %q, %v", kept, err)
	}
}
