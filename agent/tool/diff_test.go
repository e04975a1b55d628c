package tool

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n2\n3\n", "b.txt": "1\nx\n3\n", "c.txt": "1 \n2\n\n3\n"}, nil)
	tests := []struct {
		command, want string
		exit          int
	}{
		{"diff a.txt a.txt", "", 0},
		{"diff a.txt b.txt", "2c2\n< 2\n---\n> x\n", 1},
		{"diff -U 0 --label A --label B a.txt b.txt", "--- A\n+++ B\n@@ -2 +2 @@\n-2\n+x\n", 1},
		{"diff -U0 -L A -L B a.txt b.txt | tail -n 2", "-2\n+x\n", 0},
		{"diff -q a.txt b.txt", "Files a.txt and b.txt differ\n", 1},
		{"diff -bB a.txt c.txt", "", 0},
		{"diff -y -W 20 --suppress-common-lines a.txt b.txt", "2     |\tx\n", 1},
		{"cat b.txt | diff -0 --label=A --label=B a.txt - | head -n 1", "--- A\n", 0},
	}
	for _, tt := range tests {
		out := e.Call(t.Context(), Input{Command: tt.command})
		if out.ExitCode != tt.exit || out.StdoutText != tt.want || out.Error != nil || out.OK != (tt.exit == 0) {
			t.Errorf("%s: %+v %v", tt.command, out, out.Error)
		}
	}
}

func TestDiffRefused(t *testing.T) {
	e, ran := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	for command, why := range map[string]string{
		`diff -r a.txt a.txt`:                  "searches directories",
		`diff a.txt b.txt`:                     "b.txt was not granted",
		`diff --from-file=b.txt a.txt`:         "not known",
		`diff -X b.txt a.txt a.txt`:            "not known",
		`diff -S b.txt a.txt a.txt`:            "not known",
		`diff --output=b.txt a.txt a.txt`:      "not known",
		`diff -l a.txt a.txt`:                  "not known",
		`diff a.txt a.txt a.txt`:               "more than 2",
		`diff a.txt /etc/passwd`:               "was not granted",
		`diff -N a.txt a.txt`:                  "not known",
		`diff --label a.txt --label b.txt c d`: "c was not granted",
		`diff -U 3 -- -U a.txt`:                "-U was not granted",
		`diff --brief=x a.txt a.txt`:           "takes no value",
		`diff -uU b.txt a.txt`:                 "b.txt was not granted",
	} {
		out := e.Call(t.Context(), Input{Command: command})
		if out.OK || out.Error == nil || !strings.Contains(out.Error.Error(), why) || out.Error.Hint == "" {
			t.Errorf("%s: %+v %v, want %q", command, out, out.Error, why)
		}
	}
	if len(ran.scripts) != 0 {
		t.Errorf("refused but run: %q", ran.scripts)
	}
}
