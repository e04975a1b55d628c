package server

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hako/container/guest/procgroup"
	"hako/run/fault"
)

// prepare makes directories for the user of the commands. A volume may be that user's already, or root's; root cannot
// give anything away, so it lets the user in and has him make what shall be his.
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

// existing is the deepest directory of a path that is there.
func existing(dir string) string {
	for dir != "/" {
		if _, err := os.Lstat(dir); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// usable tells whether a directory is the user's to write in, or everybody's.
func usable(dir string, uid int) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return false
	}
	return uid == 0 || int(st.Uid) == uid && st.Mode&0o700 == 0o700 || st.Mode&0o007 == 0o007
}

// letIn lets everybody make files in a directory of ours, and nobody remove those of others. Links are not followed:
// in a container that is started again a command may have left them there, to have something else opened.
func letIn(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return unix.ELOOP
	}
	return os.Chmod(dir, fs.ModeSticky|0o777)
}
