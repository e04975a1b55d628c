// Package packaging_test checks how hako gets onto a machine: what is installed
// and taken away again, and the image.
package packaging_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInstall checks that what is installed is taken away again, and nothing else.
func TestInstall(t *testing.T) {
	built, dest := t.TempDir(), t.TempDir()
	for _, name := range []string{"hako", "llmsh", "share/man/man1/hako.1", "share/man/man1/hako-env-up.1",
		"share/man/man1/llmsh.1",
		"share/completions/hako.bash", "share/completions/hako.zsh", "share/completions/hako.fish"} {
		put(t, filepath.Join(built, name), name)
	}
	put(t, filepath.Join(dest, "opt/x/bin/llmcmd.old"), "somebody else's")
	put(t, filepath.Join(dest, "opt/x/share/man/man1/ls.1"), "somebody else's")
	before := list(t, dest)

	script(t, built, dest, "install")
	for name, mode := range map[string]fs.FileMode{
		"bin/hako": 0o755, "bin/llmsh": 0o755, "share/man/man1/hako-env-up.1": 0o644,
		"share/bash-completion/completions/hako": 0o644, "share/zsh/site-functions/_hako": 0o644,
		"share/fish/vendor_completions.d/hako.fish": 0o644, "share/doc/hako/LICENSE": 0o644,
		"share/doc/hako/hako.yaml.example": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(dest, "opt/x", name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for _, name := range []string{"aicli", "llmcmd"} {
		if to, _ := os.Readlink(filepath.Join(dest, "opt/x/bin", name)); to != "hako" {
			t.Errorf("%s leads to %q", name, to)
		}
	}

	script(t, built, dest, "install") // again, over itself
	script(t, built, dest, "uninstall")
	if after := list(t, dest); !slices.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// list names the files below a directory.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func script(t *testing.T, built, dest, what string) {
	t.Helper()
	cmd := exec.Command("sh", "scripts/install.sh", what)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "BUILT="+built, "DESTDIR="+dest, "PREFIX=/opt/x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", what, err, out)
	}
}

const testImage = "hako-packaging-test:latest"

// TestImage builds the image from this source and uses it as people would.
func TestImage(t *testing.T) {
	needDocker(t)
	cmd := exec.Command("sh", "scripts/image.sh", testImage)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "VERSION=v0.0.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", testImage).Run() })
	for _, c := range []struct{ words, want string }{
		{"version", "hako v0.0.1 go"},
		{"sh -c echo$IFS'hi'", "hi"},
		{"demo --fast --lang en", "That was all"},
		{"doctor settings files policy record", "ok   files"},
		{"mcp --help", "hako mcp"},
		{"serve --help", "hako serve"},
	} {
		out, err := inImage(strings.Fields(c.words)...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("hako %s: %v: %s", c.words, err, out)
		}
	}
	if out, err := inImage("sh", "--rw", "/", "-c", "echo x >/y"); err == nil {
		t.Errorf("it could write to the root: %s", out)
	}
	notRoot(t)
}

// inImage runs hako in a container whose root cannot be written.
func inImage(words ...string) (string, error) {
	run := append([]string{"run", "--rm", "--read-only", "--tmpfs", "/tmp", "--network", "none", "--cap-drop", "ALL",
		testImage}, words...)
	out, err := exec.Command("docker", run...).CombinedOutput()
	return string(out), err
}

func notRoot(t *testing.T) {
	t.Helper()
	out, err := exec.Command("docker", "image", "inspect", "--format", "{{.Config.User}} {{len .RootFS.Layers}}",
		testImage).Output()
	if err != nil || !strings.HasPrefix(string(out), "65532:65532 ") {
		t.Errorf("the user is %s (%v)", out, err)
	}
}

func needDocker(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: it builds an image")
	}
	if err := exec.Command("docker", "info").Run(); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
			t.Fatal("no Docker: ", err)
		}
		t.Skip("no Docker: ", err)
	}
}
