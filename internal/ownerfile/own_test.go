package ownerfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestOwnDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are not nine bits there")
	}
	in := t.TempDir()
	dir := filepath.Join(in, "a", "b")
	for range 2 {
		if err := OwnDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made as %v, %v", info, err)
	}
	for name, c := range map[string]struct {
		spoil     func(path string) error
		why, hint string
	}{
		"entered": {func(p string) error { return os.Chmod(p, 0o711) }, "others may enter it (mode 0711)", "chmod 700 "},
		"exchanged": {func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, "others may change its directory",
			"chmod go-w "},
		"file": {func(p string) error { return os.WriteFile(p+"2", nil, 0o600) }, "it cannot be made", ""},
		"link": {func(p string) error { return os.Symlink(p, p+"2") }, "it is not a directory", "move it away"},
	} {
		dir := filepath.Join(in, name, "own")
		if err := OwnDir(dir); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir + "2"); err == nil {
			dir += "2"
		}
		err := OwnDir(dir)
		if err == nil || !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(fault.Hint(err), c.hint) {
			t.Errorf("%s: %v (%s)", name, err, fault.Hint(err))
		}
	}
}
