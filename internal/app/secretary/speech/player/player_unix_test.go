//go:build unix

package player

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// fake puts a script where a player is looked for.
func fake(t *testing.T, script string, env ...string) (*Player, string) {
	t.Helper()
	dir := t.TempDir()
	name := programs(runtime.GOOS)[0].name
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexport OUT='"+dir+"'\n"+script),
		0o700); err != nil {
		t.Fatal(err)
	}
	p, ok := Find(Options{Dirs: []string{filepath.Join(dir, "none"), dir}, Env: append([]string{"HOME=/home/x"}, env...)})
	if !ok || p.Name() != name {
		t.Fatalf("found %v", p)
	}
	return p, dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPlay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, dir := fake(t, `for last; do :; done
cp "$last" "$OUT/heard"; echo "$last" >"$OUT/name"; ls -ld "$last" "${last%/*}" >"$OUT/modes"; env >"$OUT/env"; cat >"$OUT/stdin"`,
		"PULSE_SERVER=unix:/x", "XDG_RUNTIME_DIR=/run/user/1", "PIPEWIRE_REMOTE=pipewire-1", "LD_PRELOAD=/evil.so",
		"PIPEWIRE_MODULE_DIR=/evil", "OPENAI_API_KEY=sk-x", "PATH=/evil")
	if err := p.Play(t.Context(), []byte("RIFF sound")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "heard"); got != "RIFF sound" {
		t.Errorf("heard %q", got)
	}
	if got := read(t, dir, "stdin"); got != "" {
		t.Errorf("standard input was %q", got)
	}
	if modes := read(t, dir, "modes"); !strings.Contains(modes, "-rw-------") || !strings.Contains(modes, "drwx------") {
		t.Error(modes)
	}
	env := read(t, dir, "env")
	for _, want := range []string{"HOME=/home/x", "PULSE_SERVER=unix:/x", "XDG_RUNTIME_DIR=/run/user/1",
		"PIPEWIRE_REMOTE=pipewire-1", "PATH=/usr/bin:"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %s in %s", want, env)
		}
	}
	if strings.Contains(env, "evil") || strings.Contains(env, "sk-x") {
		t.Error(env)
	}
	if _, err := os.Stat(strings.TrimSpace(read(t, dir, "name"))); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPlayFails(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"complains", "echo first >&2; printf 'no such \\033[31mcard\\n\\n' >&2; exit 3",
			": it ended with status 3: no such [31mcard"},
		{"silent", "exit 1", ": it ended with status 1"},
		{"much", "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1",
			": it ended with status 1: line 1999"},
	}
	for _, tt := range tests {
		p, _ := fake(t, tt.script)
		err := p.Play(t.Context(), []byte("x"))
		if err == nil || err.Error() != "play sound with "+p.Name()+tt.want || fault.KindOf(err) != fault.Unavailable ||
			fault.Hint(err) == "" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPlayCannotStart(t *testing.T) {
	p, dir := fake(t, "exit 0")
	if err := os.WriteFile(filepath.Join(dir, p.Name()), []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Play(t.Context(), []byte("x")); err == nil ||
		!strings.Contains(err.Error(), "it cannot be started: no such file") || strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

// A player that is stopped takes along what it started.
func TestPlayStops(t *testing.T) {
	p, dir := fake(t, `sleep 1000 & echo $! >"$OUT/pid.new"; mv "$OUT/pid.new" "$OUT/pid"; wait`)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	ended := make(chan error)
	go func() { ended <- p.Play(ctx, []byte("x")) }()
	for started := false; !started; time.Sleep(time.Millisecond) {
		_, err := os.Stat(filepath.Join(dir, "pid"))
		started = err == nil
	}
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Error(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Errorf("%d is still running", pid)
	}
	if err := p.Play(ctx, []byte("x")); !errors.Is(err, why) {
		t.Error(err)
	}
}

// gone waits for a process to be no more, or to wait for nothing but its burial.
func gone(pid int) bool {
	for range 2000 {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// A player that leaves a child behind, which keeps the pipe open, has ended.
func TestPlayLeavesAChild(t *testing.T) {
	p, dir := fake(t, `sleep 30 & echo $! >"$OUT/pid"; exit 0`)
	start := time.Now()
	err := p.Play(t.Context(), []byte("x"))
	pid, _ := strconv.Atoi(strings.TrimSpace(read(t, dir, "pid")))
	if pid > 0 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if took := time.Since(start); err != nil || took > testload.Bound(10*time.Second) {
		t.Errorf("%v after %v", err, took)
	}
}

func TestFindNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, programs(runtime.GOOS)[0].name)
	if err := os.WriteFile(name, nil, 0o600); err != nil { // nobody may run it
		t.Fatal(err)
	}
	if p, ok := Find(Options{Dirs: []string{dir}}); ok {
		t.Errorf("found %v", p)
	}
	t.Chdir(dir)
	if err := os.Chmod(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if p, ok := Find(Options{Dirs: []string{".", ""}}); ok {
		t.Errorf("found %v in the directory one happens to be in", p)
	}
	t.Setenv("PATH", dir)
	if p, ok := Find(Options{}); ok && strings.HasPrefix(p.path, dir) {
		t.Errorf("found %v by PATH", p)
	}
}
