package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWaitingAlone: while one part of a script waits for input, the time of
// another that works is counted.
func TestWaitingAlone(t *testing.T) {
	for script, want := range map[string]string{
		`cat | awk 'BEGIN { while (1) i++ }'`: "exit status 6",
		`cat | sed 's/l/L/'`:                  "",
	} {
		in, typed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer typed.Close()
		cmd := hakoCommand(t, "sh", "--limit", "time=1s", "-c", script)
		cmd.Stdin = in
		if want == "" {
			time.AfterFunc(3*time.Second, func() { _, _ = typed.WriteString("late\n"); typed.Close() })
		}
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		if got := errorText(err); got != want || want == "" && string(out) != "Late\n" || want != "" &&
			!strings.Contains(string(out), "time=1s") {
			t.Errorf("%s: %v, %s", script, err, out)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
