package records

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestKinds: they are those that package audit writes.
func TestKinds(t *testing.T) {
	text, err := os.ReadFile("../../../audit/event.go")
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for _, m := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		written = append(written, m[1])
	}
	if got := Kinds(); !slices.Equal(got, written) {
		t.Errorf("%q, and the record has %q", got, written)
	}
}
