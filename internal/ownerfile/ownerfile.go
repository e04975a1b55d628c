// Package ownerfile opens, locks and replaces private files: the audit log, usage, settings with keys.
//
// A file that others can read or replace is refused, with a hint that repairs it; it is never repaired silently.
package ownerfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// Open opens a file. With O_CREATE it creates the file and its directory for its owner alone. It follows no links.
func Open(path string, flag int) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, refuse(path, "its directory cannot be made",
				"have HOME or XDG_STATE_HOME name a directory that you can write to", err)
		}
	}
	// Check before opening: opening a pipe would block.
	if info, err := os.Lstat(path); err == nil {
		if err := Check(path, info); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|noFollowFlag, 0o600)
	if err != nil {
		return nil, refuse(path, "", "", err)
	}
	// Check again through the handle: the name may mean another file meanwhile.
	info, err := f.Stat()
	if err == nil {
		err = Check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if err := checkDir(filepath.Dir(path), f); err != nil {
		return nil, err
	}
	return f, nil
}

// Check refuses a file that is a link, not regular, of another user, or accessible to others.
func Check(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse(path, "it is a symbolic link", "name the file it points to", nil)
	case !info.Mode().IsRegular():
		return refuse(path, "it is not a plain file", "name another file", nil)
	case !ownedByUser(info):
		return refuse(path, "it belongs to somebody else", "name another file", nil)
	case hasMode(info.Mode(), 0o077):
		return refuse(path, fmt.Sprintf("others may read or change it (mode %04o)", info.Mode().Perm()),
			"chmod 600 "+shellWord(path), nil)
	}
	return nil
}

// shellWord quotes a path for a shell if necessary.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r > 0x7f || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("0123456789_-+=:,.@%/\\", r)
	}
	if strings.TrimFunc(path, plain) == "" && path != "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// CheckTrusted refuses a file that others can write; unlike [Check] it lets them read it.
func CheckTrusted(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return refuse(path, "it is not a plain file", "name another file", nil)
	case !ownedByUser(info) && !ownedByRoot(info):
		return refuse(path, "it belongs to somebody else", "name another file", nil)
	case hasMode(info.Mode(), 0o022):
		return refuse(path, fmt.Sprintf("others may change it (mode %04o)", info.Mode().Perm()), "chmod go-w "+path, nil)
	}
	return nil
}

// checkDir closes the file and returns an error if others can replace it in its directory.
func checkDir(dir string, f *os.File) error {
	info, err := os.Stat(dir)
	if err == nil {
		err = trustedDir(dir, f.Name(), info)
	}
	if err != nil {
		f.Close()
	}
	return err
}

// trustedDir returns an error if others can replace files in a directory: its owner always can, others by its mode
// unless the sticky bit is set, as in /tmp.
func trustedDir(dir, path string, info fs.FileInfo) error {
	switch {
	case !ownedByUser(info) && !ownedByRoot(info):
		return refuse(path, "its directory belongs to somebody else", "name a file in a directory of your own", nil)
	case hasMode(info.Mode(), 0o022) && info.Mode()&fs.ModeSticky == 0:
		return refuse(path, fmt.Sprintf("others may change its directory (mode %04o)", info.Mode().Perm()), "chmod go-w "+dir,
			nil)
	}
	return nil
}

// Replace replaces a file atomically.
func Replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return refuse(path, "", "", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return refuse(path, "", "", err)
	}
	return nil
}

func refuse(path, why, hint string, err error) error {
	kind := fault.Invalid
	if os.IsNotExist(err) {
		kind = fault.NotFound
	}
	return &fault.Error{Kind: kind, Op: "open", Subject: path, Why: why, Hint: hint, Err: fault.Reason(err)}
}
