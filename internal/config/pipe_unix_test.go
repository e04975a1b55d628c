//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/internal/testload"
)

// An unpacked archive may hold a pipe: opening it would wait for its writer.
func TestPipeForAFile(t *testing.T) {
	w := newWorld(t, "")
	if err := syscall.Mkfifo(filepath.Join(w.dir, fileName), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := Load(w.source()); done <- err }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a plain file") {
			t.Error(err)
		}
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Error("it waits for ever")
	}
}
