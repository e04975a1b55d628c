package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestUnwrittenAnswers checks that an answer nobody could read is not a success.
func TestUnwrittenAnswers(t *testing.T) {
	dir := t.TempDir()
	turns := filepath.Join(dir, "turns.jsonl")
	if err := os.WriteFile(turns, []byte(`{"text":"hello"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", dir)
	for _, args := range [][]string{
		{"chat", "--no-config", "--model", "script:" + turns, "x"},
		{"chat", "--no-config", "--json", "--model", "script:" + turns, "x"},
		{"exec", "--no-config", "--file", turns, "cat " + turns},
	} {
		var stderr bytes.Buffer
		root := newRoot(newStreams(strings.NewReader(""), full{},
			&stderr)) // not Main, which changes the signals of the process
		root.SetArgs(args)
		if status := report(root.ExecuteContext(t.Context()), &stderr); status == 0 ||
			!strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: status %d, %s", args, status, &stderr)
		}
	}
}

// TestErrorsDoNotSteerTheTerminal checks what others have their say in.
func TestErrorsDoNotSteerTheTerminal(t *testing.T) {
	var stderr bytes.Buffer
	report(errors.New("model \x1b]0;PWNED\a said \u202eno"), &stderr)
	if text := stderr.String(); strings.ContainsAny(text, "\x1b\a\u202e") || !strings.Contains(text, "PWNED") {
		t.Errorf("printed %q", text)
	}
}
