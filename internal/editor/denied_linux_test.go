package editor

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"hako/run/fault"
)

// nobody makes file permissions count for this test: root is above them, but a
// thread can look at files as somebody else.
func nobody(t *testing.T, dir string) {
	if os.Geteuid() != 0 {
		return
	}
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, filepath.WalkDir(dir,
		func(name string, _ os.DirEntry, _ error) error { return os.Lchown(name, 65534, 65534) }))
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(65534))
	t.Cleanup(func() {
		_ = syscall.Setfsuid(0)
		runtime.UnlockOSThread()
	})
}

func TestPermissions(t *testing.T) {
	b := newBench(t)
	b.write("readonly", "x\n")
	b.write("secret", "x\n")
	b.write("closed/f", "x\n")
	b.write("hidden/f", "x\n")
	mode := func(name string, mode os.FileMode) { must(t, os.Chmod(filepath.Join(b.dir, name), mode)) }
	nobody(t, b.dir)
	mode("readonly", 0o444)
	mode("secret", 0)
	mode("closed", 0o555)
	mode("hidden", 0)
	defer mode("hidden", 0o755)
	hint := ": permission denied\nchoose a file that may be changed, or have its permissions changed first"
	b.ok("view", "readonly")
	// The directory would let us exchange the file, but its owner said no.
	b.no(fault.Denied, "insert "+at+"/readonly: it cannot be opened"+hint, "insert", "readonly", "insert_line", 0,
		"insert_text", "y")
	b.no(fault.Denied, "view "+at+"/secret: it cannot be opened"+hint, "view", "secret")
	b.ok("view", "closed/f")
	b.no(fault.Denied, "insert "+at+"/closed/f: its directory cannot be written"+hint, "insert", "closed/f", "insert_line",
		0, "insert_text", "y")
	b.no(fault.Denied, "create "+at+"/closed/g: its directory cannot be written"+hint, "create", "closed/g", "file_text",
		"y")
	b.no(fault.Denied, "create "+at+"/closed/d/g: its directory cannot be made"+hint, "create", "closed/d/g", "file_text",
		"y")
	b.no(fault.Denied, "view "+at+"/hidden/f"+hint, "view", "hidden/f")
	b.no(fault.Denied, "view "+at+"/hidden: it cannot be opened"+hint, "view", "hidden")
	want := at + "\n" + at + "/closed\n" + at + "/closed/f\n" + at + "/hidden\n[" + at +
		"/hidden cannot be read: permission denied]\n" + at + "/readonly\n" + at + "/secret\n"
	if got := b.ok("view", at); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	b := newBench(t)
	b.write("f", "x\n")
	must(t, os.Chown(filepath.Join(b.dir, "f"), 1234, 2345))
	b.ok("insert", "f", "insert_line", 0, "insert_text", "y")
	info, err := os.Stat(filepath.Join(b.dir, "f"))
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}
