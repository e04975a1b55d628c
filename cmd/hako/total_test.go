//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/quota"
)

// capped is hako with a total of 1000 tokens for all runs in one home.
func capped(home string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asHako+"=1", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home,
		"HAKO_QUOTA_TOTAL_TOKENS=1000")
	cmd.Dir = home
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// TestTotalOfManyRuns has ten runs at once use what is for all of them, and kills
// some of them in the middle of a call.
func TestTotalOfManyRuns(t *testing.T) {
	home := t.TempDir()
	turn := `{"delay_ms":300,"calls":[{"name":"write","arguments":{"fd":1,"data":"x"}}],"usage":{"input_tokens":60,"output_tokens":10}}` + "\n"
	long := strings.Replace(turn, "300", "600000", 1)
	for name, text := range map[string]string{"short.jsonl": strings.Repeat(turn, 20), "long.jsonl": long} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := quota.UsageFile{Path: filepath.Join(home, "hako", "usage.json")}
	for range 3 {
		kill(t, home)
	}
	var wg sync.WaitGroup
	for range 7 {
		wg.Go(func() {
			cmd, stderr := capped(home, "cmd", "--model", "script:short.jsonl", "x")
			if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 7 ||
				!strings.Contains(stderr.String(), "all runs together used") {
				t.Errorf("%v: %s", err, stderr)
			}
		})
	}
	wg.Wait()
	if n, err := state.Spent(nil); n != 1000 || err != nil {
		t.Errorf("%d of 1000 tokens were used, %v", n, err)
	}
	used, err := state.Show()
	if u := used[quota.Day(time.Now())]["script"]; err != nil || u.Calls != 10 {
		t.Errorf("%+v, %v", used, err)
	}
}

// kill starts a run, waits until it has reserved what its call may use, and kills
// it.
func kill(t *testing.T, home string) {
	t.Helper()
	reserved := func() []string {
		list, _ := filepath.Glob(filepath.Join(home, "hako", "usage.json.reserved", "*.json"))
		return list
	}
	before := reserved()
	cmd, stderr := capped(home, "cmd", "--model", "script:long.jsonl", "x")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	fresh := func(name string) bool { return !slices.Contains(before, name) }
	for end := time.Now().Add(time.Minute); !slices.ContainsFunc(reserved(), fresh); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing was reserved: %s", stderr)
		}
	}
}
