package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hako/agent"
	"hako/internal/ownerfile"
	"hako/internal/setup"
	"hako/run/fault"
)

// An OutFile is an output file while it is written: a temporary file beside its destination, renamed when it is
// complete. It is locked meanwhile, so that [sweepParts] leaves it alone.
type OutFile struct {
	Name  string
	temp  *os.File // nil after Commit or Discard
	Bytes int64    // written so far
}

// ownerOnly is the mode of private files.
const ownerOnly = 0o600

// The names of temporary files.
const (
	partPrefix = ".hako-"
	partSuffix = ".part"
)

// NewOutFile creates a file. An existing file keeps its mode, unless the new one is private.
func NewOutFile(name string, mode os.FileMode) (*OutFile, error) {
	real := setup.Resolve(name) // replace the target of a link, not the link
	info, err := os.Stat(real)
	if err == nil && !info.Mode().IsRegular() || isSpecial(real) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "write output", Subject: name, Why: "it is not a plain file",
			Hint: "name a file, or leave it out and redirect standard output"}
	}
	if err == nil && !isWritable(real, info) {
		return nil, readOnly(name)
	}
	sweepParts(filepath.Dir(real))
	temp, cerr := newPart(filepath.Dir(real), mode)
	if cerr != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "write output", Subject: name, Err: fault.Reason(cerr),
			Hint: "see that its folder is there and can be written"}
	}
	o := &OutFile{Name: real, temp: temp}
	if err == nil && mode != ownerOnly {
		keepOwner(temp, info)
		if err := temp.Chmod(info.Mode().Perm()); err != nil {
			o.Discard()
			return nil, &fault.Error{Op: "write output", Subject: name, Err: fault.Reason(err),
				Hint: "the permissions it has cannot be kept"}
		}
	}
	return o, nil
}

// newPart creates a temporary file. Another process may remove it as a leftover before it is locked; then it
// tries again.
func newPart(dir string, mode os.FileMode) (temp *os.File, err error) {
	for range 3 {
		name := filepath.Join(dir, partPrefix+agent.NewID()+partSuffix)
		if temp, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return nil, err
		}
		ownerfile.TryLock(temp) // without locks nothing is swept either
		if inPlace(temp) {
			return temp, nil
		}
		temp.Close()
	}
	return nil, errors.New("another process removes its unfinished files")
}

// inPlace reports whether a file still has its name.
func inPlace(f *os.File) bool {
	here, err := f.Stat()
	there, serr := os.Lstat(f.Name())
	return err == nil && serr == nil && os.SameFile(here, there)
}

// isWritable reports whether an existing file may be replaced. A rename needs permission for the directory only,
// but a read-only file is meant to stay.
func isWritable(path string, info os.FileInfo) bool {
	if info.Mode().Perm()&0o222 == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func readOnly(name string) error {
	return &fault.Error{Kind: fault.NotFound, Op: "write output", Subject: name, Why: "it is read-only",
		Hint: "name another file, or allow writing first: chmod u+w"}
}

// isSpecial reports whether a path is below /dev, /proc or /sys.
func isSpecial(path string) bool {
	path, err := filepath.Abs(path)
	return err != nil || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") ||
		strings.HasPrefix(path, "/sys/")
}

func (o *OutFile) Write(p []byte) (int, error) {
	n, err := o.temp.Write(p)
	o.Bytes += int64(n)
	return n, err
}

// Commit moves the file to its name.
func (o *OutFile) Commit() error {
	if info, err := os.Stat(o.Name); err == nil && !isWritable(o.Name, info) {
		o.Discard()
		return readOnly(o.Name)
	}
	temp := o.temp
	o.temp = nil
	if err := install(temp, o.Name); err != nil {
		os.Remove(temp.Name())
		return &fault.Error{Op: "write output", Subject: o.Name, Err: fault.Reason(err),
			Hint: "what was there before is still there"}
	}
	return nil
}

// install renames a complete file. The lock is held until then; Windows cannot rename an open file.
func install(temp *os.File, name string) error {
	defer temp.Close()
	err := temp.Sync()
	if runtime.GOOS == "windows" {
		err = errors.Join(err, temp.Close())
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}

// Discard removes the file unless it was committed.
func (o *OutFile) Discard() {
	if o.temp != nil {
		os.Remove(o.temp.Name())
		o.temp.Close()
		os.Remove(o.temp.Name()) // again, where an open file cannot be removed
		o.temp = nil
	}
}
