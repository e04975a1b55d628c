package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"main": "main", "日本 語": "日本 語",
		"a\u202eb\u2066c": "a‹U+202E›b‹U+2066›c", // turns the direction round
		"a\u009b31mb":     "a‹U+009B›31mb",
		"a\x1b[1m\nb\x7f": "a␛[1m␊b␡",
		"a\u2028b\u200bc": "a‹U+2028›b‹U+200B›c",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestRelay checks that nobody's lines pass for ours.
func TestRelay(t *testing.T) {
	var told []string
	d := &Manager{Options: Options{Progress: func(line string) { told = append(told, line) }}}
	d.report("ours")
	d.reportQuoted("hako: warning: your token is needed\nready: x")
	want := []string{"ours", "| hako: warning: your token is needed\n| ready: x"}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("%q", told)
	}
	if got := below("pip install: it ended; its last output:\nhako: warning: x"); got != "pip install: it ended; its last output:\n| hako: warning: x" {
		t.Errorf("%q", got)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func() string {
		entries, _ := os.ReadDir(dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	for i, name := range strings.Fields("a b c d e") {
		write(name, 10+i)
	}
	prune(dir, 4, 1000)
	if got := left(); got != "b c d e" {
		t.Errorf("by number: %s", got)
	}
	prune(dir, 4, 14+13+12)
	if got := left(); got != "c d e" {
		t.Errorf("by size: %s", got)
	}
	prune(dir, 4, 13)
	if got := left(); got != "" {
		t.Errorf("one too large: %s", got)
	}
}

// TestLogsOfATask checks that they are limited as a whole. The files are as large
// as that, and hold nothing.
func TestLogsOfATask(t *testing.T) {
	b := &box{dir: t.TempDir()}
	dir := filepath.Join(b.dir, "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		name := filepath.Join(dir, fmt.Sprintf("2020010%d-000000.000000-aaaaaa.stdout", i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, logLimit); err != nil {
			t.Fatal(err)
		}
	}
	log := newLog(b, 4)
	if _, err := log.stdout.Write([]byte("more than four")); err != nil {
		t.Fatal(err)
	}
	if n := sizeOf(t, dir); n > logBytes-logLimit {
		t.Errorf("%d bytes while it is being written", n)
	}
	log.close()
	if n := sizeOf(t, dir); n > logBytes || n < logLimit {
		t.Errorf("%d bytes", n)
	}
	if _, err := os.Stat(log.stdout.path); err != nil {
		t.Error(err)
	}
}

func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
