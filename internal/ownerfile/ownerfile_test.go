package ownerfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	for name, c := range map[string]struct {
		make      func(path string)
		why, hint string
	}{
		"new":   {func(string) {}, "", ""},
		"own":   {func(p string) { os.WriteFile(p, nil, 0o600) }, "", ""},
		"world": {func(p string) { os.WriteFile(p, nil, 0o644) }, "mode 0644", "chmod 600 "},
		"group": {func(p string) { os.WriteFile(p, nil, 0o600); os.Chmod(p, 0o620) }, "mode 0620", "chmod 600 "},
		"link": {func(p string) { os.WriteFile(p+"x", nil, 0o600); os.Symlink(p+"x", p) }, "symbolic link",
			"points to"},
		"directory":    {func(p string) { os.Mkdir(p, 0o700) }, "not a plain file", "another"},
		"open to all":  {func(p string) { os.Chmod(filepath.Dir(p), 0o777) }, "mode 0777", "chmod go-w "},
		"like /tmp":    {func(p string) { os.Chmod(filepath.Dir(p), 0o777|os.ModeSticky) }, "", ""},
		"dir readable": {func(p string) { os.Chmod(filepath.Dir(p), 0o755) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			c.make(path)
			f, err := Open(path, os.O_CREATE|os.O_RDWR)
			if err == nil {
				f.Close()
			}
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Fatalf("got %v, want %q", err, c.why)
			}
			if !strings.Contains(fault.Hint(err), c.hint) {
				t.Errorf("hint %q, want %q", fault.Hint(err), c.hint)
			}
			if info, err := os.Stat(path); name == "new" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("made with %v, %v", info.Mode(), err)
			}
		})
	}
}

// The hint can be typed as it stands.
func TestHintOfOddNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	dir := t.TempDir()
	for name, want := range map[string]string{
		"plain-1.json": dir + "/plain-1.json", "鍵.json": dir + "/鍵.json",
		"my key": "'" + dir + "/my key'", "it's": "'" + dir + `/it'\''s'`, "a;b$c": "'" + dir + "/a;b$c'",
		"a b;": "'" + dir + "/a b;'", ";x": "'" + dir + "/;x'",
	} {
		path := filepath.Join(dir, name)
		os.WriteFile(path, nil, 0o666)
		os.Chmod(path, 0o666)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fault.Hint(Check(path, info)); got != "chmod 600 "+want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestDirectoryOfAnother(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	for _, mode := range []os.FileMode{0o700, 0o755, 0o777 | os.ModeSticky} {
		dir := t.TempDir()
		os.Chmod(dir, mode)
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Skip(err)
		}
		f, err := Open(filepath.Join(dir, "file"), os.O_CREATE|os.O_RDWR)
		if f != nil || err == nil || !strings.Contains(err.Error(), "directory belongs to somebody else") ||
			fault.Hint(err) == "" {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestCheckTrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	path := filepath.Join(t.TempDir(), "file")
	os.WriteFile(path, nil, 0o644)
	for mode, ok := range map[os.FileMode]bool{0o644: true, 0o600: true, 0o666: false, 0o664: false} {
		os.Chmod(path, mode)
		info, _ := os.Stat(path)
		if err := CheckTrusted(path, info); (err == nil) != ok {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	os.WriteFile(path, []byte("old"), 0o600)
	if err := Replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	left, _ := os.ReadDir(filepath.Dir(path))
	if string(got) != "new" || len(left) != 1 {
		t.Errorf("%q, and %v in the directory", got, left)
	}
	if err := Replace(filepath.Join(path, "x"), nil); err == nil {
		t.Error("replaced a file in a directory that is none")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	one, _ := Open(path, os.O_CREATE|os.O_RDWR)
	two, _ := Open(path, os.O_RDWR)
	defer one.Close()
	defer two.Close()
	if err := Lock(one); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { got <- Lock(two) }()
	select {
	case <-got:
		t.Fatal("two hold the lock")
	default:
	}
	Unlock(one)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}
