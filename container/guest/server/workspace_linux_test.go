package server

import (
	"os"
	"path/filepath"
	"testing"

	"hako/run/fault"
)

// TestPrepare makes directories on volumes of several owners.
func TestPrepare(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	root, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	os.Chmod(root, 0o755)
	for name, c := range map[string]struct {
		owner int
		mode  os.FileMode
		kind  fault.Kind
	}{
		"root": {0, 0o755, 0}, "user": {12345, 0o755, 0}, "private": {12345, 0o700, 0}, "closed root": {0, 0o700, 0},
		"anybody": {777, 0o777, 0},
	} {
		volume := filepath.Join(root, name)
		if err := os.Mkdir(volume, 0o755); err != nil {
			t.Fatal(err)
		}
		os.Chown(volume, c.owner, c.owner)
		os.Chmod(volume, c.mode)
		want := filepath.Join(volume, "a", "b")
		for range 2 { // the second time all is there
			if err := prepare(12345, 12345, []string{want, volume}); fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if info, err := os.Stat(want); err != nil || ownerOfFile(info) != 12345 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for name, to := range map[string]string{"link": "ours", "root/way": "../ours"} {
		os.Mkdir(filepath.Join(root, "ours"), 0o755)
		link := filepath.Join(root, name)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{link, link + "/new"} {
			if err := prepare(12345, 12345, []string{dir}); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s: %v", dir, err)
			}
		}
		if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v", info, err)
		}
	}
	file := filepath.Join(root, "file")
	os.WriteFile(file, nil, 0o600)
	if err := prepare(12345, 12345, []string{file + "/x"}); fault.KindOf(err) != fault.Unavailable ||
		fault.Hint(err) == "" {
		t.Error(err)
	}
}
