package vfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPath: no name and no symbolic link reaches a canary outside the mount,
// for reading or for writing.
func FuzzPath(f *testing.F) {
	for _, seed := range [][2]string{
		{"/w/file", "file"}, {"/w/../canary", ".."}, {"/w/l", "../canary"}, {"/w/l/canary", "../.."}, {"/w/l", "/canary"},
		{"/w/sub/l/../canary", "sub/../.."}, {"/../../w/l/l/l", "."}, {"/w/./l//x", "//..//"},
		{"/w/l", "sub/deep/../../../canary"},
		{"/w/hostlink/canary", "hostlink"}, {"/w/l/canary", "hostlink/"}, {"/proc/self/root", "/proc/self/cwd"},
	} {
		f.Add(seed[0], seed[1])
	}
	outside, dir := host(f)
	os.Symlink("..", filepath.Join(dir, "hostlink"))
	f.Fuzz(func(t *testing.T, name, target string) {
		v := New(Options{})
		must(t, v.Mount("/w", dir, true))
		for _, link := range []string{"/w/l", "/w/sub/l", "/box/l"} {
			v.Symlink(target, link)
			defer v.Remove(link)
		}
		for _, name := range []string{name, "/w/" + name, "/w/l/" + name, "/box/l/" + name} {
			b, err := v.ReadFile(name)
			if err == nil && strings.Contains(string(b), canary) {
				t.Fatalf("%q reaches the canary", name)
			}
			if file, err := v.Open(name, os.O_WRONLY, 0); err == nil {
				file.Close()
			}
			if strings.HasSuffix(name, "canary") {
				v.WriteFile(name, nil, 0o666)
				v.Remove(name)
			}
			v.Realpath(name)
			v.ReadDir(name)
		}
		if b, err := os.ReadFile(filepath.Join(outside, "canary")); err != nil || string(b) != canary {
			t.Fatal("the canary was changed")
		}
	})
}
