//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// copies is a model that has the standard input copied to the output.
const copies = `{"calls":[{"name":"spawn","arguments":{"script":"cat","stdin_fd":0,"stdout_fd":1}},{"name":"exit","arguments":{"code":0}}]}`

// A copying is a hako cmd that copies a pipe to the file out in dir.
type copying struct {
	*exec.Cmd
	dir    string
	feed   io.WriteCloser
	stderr *bytes.Buffer
}

// startCopying starts one and waits until it has copied the first line.
func startCopying(t *testing.T, dir, out string) *copying {
	t.Helper()
	c := &copying{dir: dir, stderr: new(bytes.Buffer)}
	turns := filepath.Join(t.TempDir(), "turns.jsonl")
	if err := os.WriteFile(turns, []byte(copies), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	c.Cmd = exec.Command(os.Args[0], "cmd", "--model", "script:"+turns, "-o", out, "copy")
	c.Env = append(os.Environ(), asHako+"=1", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
	c.Dir, c.Stderr = dir, c.stderr
	var err error
	if c.feed, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	before := parts(t, dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	fmt.Fprintln(c.feed, "the first half")
	c.await(t, func() bool { return atWork(t, dir, before) })
	return c
}

// atWork reports whether an unfinished file besides those that are known has
// something in it.
func atWork(t *testing.T, dir string, known []string) bool {
	for _, name := range parts(t, dir) {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 && !slices.Contains(known, name) {
			return true
		}
	}
	return false
}

// parts lists the unfinished files in a folder.
func parts(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".hako-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (c *copying) await(t *testing.T, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !fact(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come about: %s", c.stderr)
		}
	}
}

// TestEndOfInputWithSignal ends the input and sends a signal at the same time, as
// Ctrl-C in a pipeline does. Half an input must never become an output.
func TestEndOfInputWithSignal(t *testing.T) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM}
	tries := 66
	if testing.Short() {
		tries = 12
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out.txt")
	if err := os.WriteFile(out, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(out)
	for i := range tries {
		sig := signals[i%3]
		c := startCopying(t, dir, "out.txt")
		if i%2 == 0 {
			c.feed.Close()
			c.Process.Signal(sig)
		} else {
			c.Process.Signal(sig)
			c.feed.Close()
		}
		c.Wait()
		text, err := os.ReadFile(out)
		after, serr := os.Stat(out)
		if err != nil || serr != nil || string(text) != "old\n" || !os.SameFile(before, after) ||
			!after.ModTime().Equal(before.ModTime()) {
			t.Fatalf("try %d, %v: the file has %q, %v", i, sig, text, err)
		}
		if code := c.ProcessState.ExitCode(); code != 130 {
			t.Fatalf("try %d, %v: status %d: %s", i, sig, code, c.stderr)
		}
	}
	if left := parts(t, dir); left != nil {
		t.Errorf("left are %v", left)
	}
}

// TestCtrlCInPipeline interrupts a whole pipeline of a shell.
func TestCtrlCInPipeline(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "turns.jsonl"), []byte(copies), 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 20
	if testing.Short() {
		tries = 4
	}
	for i := range tries {
		// The writer prints slowly, so that it is found waiting rather than writing.
		cmd := exec.Command("sh", "-c", `{ echo line; exec sleep 60; } | `+asHako+
			`=1 "$0" cmd --model script:turns.jsonl -o out.txt copy`, os.Args[0])
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := &copying{Cmd: cmd, stderr: new(bytes.Buffer)}
		c.await(t, func() bool { return atWork(t, dir, nil) })
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		cmd.Wait()
		c.await(t, func() bool { return len(parts(t, dir)) == 0 }) // the shell may end before hako does
		if _, err := os.Stat(filepath.Join(dir, "out.txt")); err == nil {
			t.Fatalf("try %d: half an output was kept", i)
		}
	}
}

// TestSweptParts: what a killed hako left beside its output is removed by the
// next, what a living one is at work on is not.
func TestSweptParts(t *testing.T) {
	dir := t.TempDir()
	killed := startCopying(t, dir, "a.txt")
	killed.Process.Kill()
	killed.Wait()
	leftover := parts(t, dir)
	if len(leftover) != 1 {
		t.Fatalf("left are %v", leftover)
	}
	other := filepath.Join(dir, ".hako-notours.part")
	if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	living := startCopying(t, dir, "b.txt")
	if _, err := os.Stat(leftover[0]); err == nil {
		t.Error("the leftover is still there")
	}
	third := startCopying(t, dir, "c.txt")
	for name, c := range map[string]*copying{"b.txt": living, "c.txt": third} {
		c.feed.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v: %s", name, err, c.stderr)
		}
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "the first half\n" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	if left := parts(t, dir); strings.Join(left, " ") != other {
		t.Errorf("left are %v", left)
	}
}
