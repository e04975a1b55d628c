package server

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hako/container/guest/procgroup"
	"hako/run/fault"
)

// prepare creates directories for the user of the commands. A volume may belong to that user or to root. Root cannot
// change owners here, so it makes the parent writable and creates them as the user.
func prepare(uid, gid int, dirs []string) error {
	for _, dir := range dirs {
		if err := prepareOne(uid, gid, filepath.Clean(dir)); err != nil {
			return err
		}
	}
	return nil
}

func prepareOne(uid, gid int, dir string) error {
	err := makeAs(uid, gid, dir)
	if os.IsPermission(err) {
		if err = letIn(existing(filepath.Dir(dir))); err == nil {
			err = makeAs(uid, gid, dir)
		}
	}
	if err == nil && !usable(dir, uid) {
		err = letIn(dir)
	}
	if err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "make", Subject: dir, Why: "commands need this directory",
			Err:  cause(err),
			Hint: "the volume must belong to root or to the user of the commands"}
	}
	return nil
}

func makeAs(uid, gid int, dir string) (err error) {
	denied := procgroup.As(uid, gid, func() { err = os.MkdirAll(dir, 0o755) })
	if denied != nil {
		return denied
	}
	return err
}

// existing returns the deepest existing directory of a path.
func existing(dir string) string {
	for dir != "/" {
		if _, err := os.Lstat(dir); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// usable reports whether the user can write in a directory.
func usable(dir string, uid int) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return false
	}
	return uid == 0 || int(st.Uid) == uid && st.Mode&0o700 == 0o700 || st.Mode&0o007 == 0o007
}

// letIn makes a directory of ours world-writable and sticky. It does not follow links: in a restarted container a
// command may have left some.
func letIn(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return unix.ELOOP
	}
	return os.Chmod(dir, fs.ModeSticky|0o777)
}
