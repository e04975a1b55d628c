package audit

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hako/internal/redact"
)

// TestBounded: an event that was made short for another process is written as it
// would have been by this one.
func TestBounded(t *testing.T) {
	var secrets redact.Set
	secrets.Add("hunter2-hunter2-hunter2")
	long := strings.Repeat("語", 1<<20)
	atTheCut := strings.Repeat("x", maxText-10) + "hunter2-hunter2-hunter2" + strings.Repeat("y", 1<<20)
	for name, e := range map[string]Event{
		"script": {What: Asked, Script: long}, "secret": {What: Asked, Script: atTheCut},
		"short": {What: Asked, Script: "echo [cut: x"},
		"word":  {What: Allowed, Argv: []string{long, "b"}},
		"words": {What: Allowed, Argv: strings.Fields(strings.Repeat("word ", 100000))},
		"error": {What: Ended, Error: long, Commands: map[string]int{"echo": 2, "cat": 1}},
	} {
		short := e.Bounded()
		if text, err := json.Marshal(short); err != nil || len(text) > 1<<20 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		short.Marked = true
		var lines []string
		for _, e := range []Event{e, short} {
			enc := encoder{secrets: redact.Filter{Values: &secrets}}
			enc.line(&e)
			lines = append(lines, string(enc.buf))
		}
		if name == "word" || name == "words" { // how many words were left out counts from elsewhere
			for i := range lines {
				lines[i], _, _ = strings.Cut(lines[i], "[cut: ")
			}
		}
		if lines[0] != lines[1] && name != "secret" {
			t.Errorf("%s: %.200q, want %.200q", name, lines[1][max(0, len(lines[1])-400):], lines[0][max(0, len(lines[0])-400):])
		}
		if strings.Contains(lines[1], "hunter2") {
			t.Errorf("%s: the secret is written", name)
		}
	}
	many := Event{What: Ended, Commands: map[string]int{}}
	for i := range 200 {
		many.Commands[fmt.Sprint(i)+strings.Repeat("x", 1<<16)] = 1
	}
	if text, err := json.Marshal(many.Bounded()); err != nil || len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	log, err := Open(filepath.Join(t.TempDir(), "log"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(many.Bounded()); err != nil {
		t.Error(err)
	}
}
