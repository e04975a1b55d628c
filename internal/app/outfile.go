package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hako/agent"
	yours "hako/internal/ownerfile"
	"hako/internal/setup"
	"hako/run/fault"
)

// An OutFile is the file of -o while it is made: written beside its place and
// moved there when it is whole, so that nobody ever sees half of it. As long as
// it is made it is locked, by which [sweepParts] knows that somebody is at work.
type OutFile struct {
	Name  string
	temp  *os.File // nil once it was kept or given up
	Bytes int64    // written so far
}

// ownerOnly is the mode of what only its owner may read.
const ownerOnly = 0o600

// The names of unfinished files.
const (
	partPrefix = ".hako-"
	partSuffix = ".part"
)

// NewOutFile begins a file. One that is there keeps its mode; a new one gets the
// given one, and so does any that is to be private.
func NewOutFile(name string, mode os.FileMode) (*OutFile, error) {
	real := setup.Resolve(name) // a link stays one; what it leads to is replaced
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
		return nil, &fault.Error{Kind: fault.NotFound, Op: "write output", Subject: name, Err: setup.ReasonOf(cerr),
			Hint: "see that its folder is there and can be written"}
	}
	o := &OutFile{Name: real, temp: temp}
	if err == nil && mode != ownerOnly {
		keepOwner(temp, info)
		if err := temp.Chmod(info.Mode().Perm()); err != nil {
			o.Discard()
			return nil, &fault.Error{Op: "write output", Subject: name, Err: setup.ReasonOf(err),
				Hint: "the permissions it has cannot be kept"}
		}
	}
	return o, nil
}

// newPart makes a file for what is not whole yet. The mode is what the user's
// mask leaves of it. Between its making and its lock another process may take it
// for a leftover and remove it; then there is another try.
func newPart(dir string, mode os.FileMode) (temp *os.File, err error) {
	for range 3 {
		name := filepath.Join(dir, partPrefix+agent.NewID()+partSuffix)
		if temp, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return nil, err
		}
		yours.TryLock(temp) // where there are no locks, nothing is swept either
		if inPlace(temp) {
			return temp, nil
		}
		temp.Close()
	}
	return nil, errors.New("another process removes its unfinished files")
}

// inPlace reports whether a file is still what its name stands for.
func inPlace(f *os.File) bool {
	here, err := f.Stat()
	there, serr := os.Lstat(f.Name())
	return err == nil && serr == nil && os.SameFile(here, there)
}

// isWritable reports whether a file that is there may be replaced. Replacing needs
// no permission but the folder's, and root needs none at all: a file that nobody
// may write was meant to stay.
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

// isSpecial tells whether a path leads to what only looks like a file.
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

// Commit puts the file in its place.
func (o *OutFile) Commit() error {
	if info, err := os.Stat(o.Name); err == nil && !isWritable(o.Name, info) {
		o.Discard()
		return readOnly(o.Name)
	}
	temp := o.temp
	o.temp = nil
	if err := install(temp, o.Name); err != nil {
		os.Remove(temp.Name())
		return &fault.Error{Op: "write output", Subject: o.Name, Err: setup.ReasonOf(err),
			Hint: "what was there before is still there"}
	}
	return nil
}

// install moves a whole file to its name. The lock is held until it is there;
// only Windows does not move what is open.
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

// Discard gives the file up, unless it was kept.
func (o *OutFile) Discard() {
	if o.temp != nil {
		os.Remove(o.temp.Name())
		o.temp.Close()
		os.Remove(o.temp.Name()) // where an open file cannot be removed
		o.temp = nil
	}
}
