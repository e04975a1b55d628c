package fault

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"grep", "egrep", "sed", "cat", "tac", "policy", "profile", "警告"}
	for word, want := range map[string]string{
		"gerp": "grep", "polcy": "policy", "cta": "cat", "profil": "profile", "grep": "grep",
		"警报": "警告", "zzzzzz": "", "": "", "x": "", strings.Repeat("a", 100): "",
	} {
		got, ok := Nearest(word, names)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
	if got, ok := Nearest("a", nil); ok {
		t.Errorf("found %q among nothing", got)
	}
}
