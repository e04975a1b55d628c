package text

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// alone calls one command on a small tree of its own.
func alone(t *testing.T, cmd shell.Command, tree *vfs.FS, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	w := stream.NewWriter(&out)
	c := &shell.Call{
		Args: args, Name: cmd.Name, Stdin: stream.NewBytes([]byte(stdin)), Stdout: w, Stderr: &out, Dir: "/box", FS: tree,
		Now: func() time.Time { return time.Unix(1700000000, 0) }, Getenv: func(string) (string, bool) { return "", false },
	}
	err := cmd.Run(context.Background(), c)
	w.Flush()
	return out.String(), err
}

func randomText(r *rand.Rand, kinds int) string {
	var b strings.Builder
	for range r.IntN(40) {
		fmt.Fprintf(&b, "line %d\n", r.IntN(kinds))
	}
	if r.IntN(4) == 0 {
		b.WriteString("no newline")
	}
	return b.String()
}

// What diff says, patch can do and undo, in every style.
func TestDiffPatchRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		tree := vfs.New(vfs.Options{})
		a, b := randomText(r, 2+r.IntN(20)), randomText(r, 2+r.IntN(20))
		tree.WriteFile("/box/a", []byte(a), 0o644)
		tree.WriteFile("/box/b", []byte(b), 0o644)
		style := []string{"-u", "-c", "--normal", "-U0", "-U1"}[i%5]
		diff, _ := alone(t, Diff, tree, "", "-a", style, "a", "b")
		if said, err := alone(t, Patch, tree, diff, "-s", "a"); err != nil {
			t.Fatalf("%s: %v: %s\n%s", style, err, said, diff)
		}
		if got, _ := tree.ReadFile("/box/a"); string(got) != b {
			t.Fatalf("%s: got %q, want %q\n%s", style, got, b, diff)
		}
		if said, err := alone(t, Patch, tree, diff, "-s", "-R", "a"); err != nil {
			t.Fatalf("%s -R: %v: %s\n%s", style, err, said, diff)
		}
		if got, _ := tree.ReadFile("/box/a"); string(got) != a {
			t.Fatalf("%s -R: got %q, want %q\n%s", style, got, a, diff)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n")
	f.Add("*** a\n--- a\n***************\n*** 1,2 ****\n  1\n! 2\n--- 1,2 ----\n  1\n! 3\n")
	f.Add("1,2c1\n< 1\n< 2\n---\n> 3\n\\ No newline at end of file\n")
	f.Add("diff --git a/a b/c\nrename from a\nrename to c\n@@ -99999999999999999999 +1 @@\n")
	f.Fuzz(func(t *testing.T, patch string) {
		tree := vfs.New(vfs.Options{})
		tree.WriteFile("/box/a", []byte("1\n2\n"), 0o644)
		alone(t, Patch, tree, patch, "-p0")
		alone(t, Patch, tree, patch, "-R", "a")
	})
}
