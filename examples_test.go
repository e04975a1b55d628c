package hako_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEmbed builds and runs the example of hako as a library. It is a module of its
// own, so that the compiler keeps it from importing what is internal.
func TestEmbed(t *testing.T) {
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = "examples/embed"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	file, err := os.ReadFile("examples/embed/output.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, want := string(out), string(file)
	if before, _, none := strings.Cut(got, "no sandbox here"); none { // the rest needs Linux with Landlock
		t.Log("the host runner is not available here")
		got, want = before, want[:min(len(before), len(want))]
	}
	if got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
}
