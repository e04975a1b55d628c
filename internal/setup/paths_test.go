package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResolveFollowsWhatLeadsToNothing checks that a link is judged by where it
// leads although nothing is there yet.
func TestResolveFollowsWhatLeadsToNothing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"gg": ".git/hooks/new", "abs": dir + "/x/y", "two": "gg", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for name, want := range map[string]string{"gg": ".git/hooks/new", "abs": "x/y", "two": ".git/hooks/new",
		"gg/z": ".git/hooks/new/z", "none": "none"} {
		if got := Resolve(filepath.Join(dir, name)); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	Resolve(filepath.Join(dir, "loop")) // comes back
}
