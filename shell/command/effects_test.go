package command

import (
	"slices"
	"testing"

	"hako/run"
	"hako/shell"
	"hako/shell/vfs"
)

// TestFailuresAreEffects checks that a file counts as read if the command fails after
// it has read it: the gate records what was read when the file is closed.
func TestFailuresAreEffects(t *testing.T) {
	for _, script := range []string{"base64 -d f", "base64 -w0 big | head -c 10", "sha256sum f big | head -c 1",
		"yq '.a | error(\"x\")' y", "base32 -d f", "cksum -a sha1 f"} {
		fs := vfs.New(vfs.Options{})
		for name, text := range map[string]string{"f": "aGVsbG8=\n!", "y": "a: 1\n", "big": string(make([]byte, 1<<20))} {
			if err := fs.WriteFile("/box/"+name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		res, err := shell.New(shell.Options{FS: fs, Commands: All()}).Run(t.Context(), &run.Request{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(res.Effects, func(e run.Effect) bool { return e.What == "read" && e.Bytes > 0 }) {
			t.Errorf("%s: nothing was read: %+v", script, res.Effects)
		}
	}
}
