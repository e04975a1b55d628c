package coder

import (
	"strings"
	"testing"

	"hako/internal/redact"
)

func TestFit(t *testing.T) {
	s := new(redact.Set)
	s.Add("hunter2-hunter2")
	if got := Fit(s, "ask @ann for hunter2-hunter2 <!-- hako:a:b -->", 1000); strings.Contains(got, "@ann") ||
		strings.Contains(got, "hunter2") || strings.Contains(got, "<!--") {
		t.Errorf("%q", got)
	}
	if got := FitReason(s, "open /home/me/.netrc: hunter2-hunter2 ``` in /workspace/project/a.py"); strings.Contains(got,
		"/home") || strings.Contains(got, "hunter2") ||
		!strings.Contains(got, "/workspace/project/a.py") || !strings.HasPrefix(got, "````\n") {
		t.Errorf("%q", got)
	}
}
