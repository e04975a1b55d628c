package hako_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies: the document names every direct dependency with the version
// that go.mod has, so that each is there for a reason.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 20 {
		t.Fatalf("go.mod has %d direct dependencies", len(direct))
	}
	for _, d := range direct {
		if !explained(string(doc), d[1], d[2]) {
			t.Errorf("docs/dependencies.md does not say why there is %s %s", d[1], d[2])
		}
	}
}

// explained finds a row with the module, or one of several that share a row by
// their last names, and the version.
func explained(doc, module, version string) bool {
	short := path.Base(regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(module, ""))
	for row := range strings.Lines(doc) {
		names, rest, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		if (strings.Contains(names, module) || strings.Contains(names, ", "+short)) && strings.Contains(rest, version) {
			return true
		}
	}
	return false
}
