package command

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"hako/run"
	"hako/shell"
)

// TestHelpHasExamples wants of every command that help lists a usage line and a
// line that shows a call of it.
func TestHelpHasExamples(t *testing.T) {
	ses := shell.New(shell.Options{Commands: All(), Jobs: true})
	names := listedNames(t, said(t, ses, "help"))
	if len(names) < 100 {
		t.Fatalf("help lists only %d commands: %v", len(names), names)
	}
	for _, name := range names {
		text := said(t, ses, "help '"+name+"'")
		if !strings.Contains(text, "\nusage: "+name) {
			t.Errorf("help %s has no usage line:\n%s", name, text)
		}
		if !showsCall(text, name) {
			t.Errorf("help %s has no example:\n%s", name, text)
		}
	}
}

func said(t *testing.T, ses *shell.Session, script string) string {
	t.Helper()
	var out bytes.Buffer
	res, err := ses.Run(t.Context(), &run.Request{Script: script, Stdout: &out, Stderr: &out})
	if err != nil || res.Exit != 0 {
		t.Fatalf("%s: %v, %d\n%s", script, err, res.Exit, out.String())
	}
	return out.String()
}

func listedNames(t *testing.T, list string) (names []string) {
	t.Helper()
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); strings.HasPrefix(line, "  ") {
			names = append(names, words[0])
		}
	}
	return names
}

// showsCall reports whether an indented line has the name where a command stands.
func showsCall(text, name string) bool {
	start := `(?m)^  (.*([|;&({]|do|then|if|while|until|command|=) *)?`
	return regexp.MustCompile(start + regexp.QuoteMeta(name) + `( |;|\)|$)`).MatchString(text)
}
