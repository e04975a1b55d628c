package cli

import (
	"errors"
	"os"
	"path/filepath"

	"hako/internal/fault"
)

// An outFile is the file of -o while it is made: written beside its place and
// moved there when it is whole, so that nobody ever sees half of it.
type outFile struct {
	name string
	temp *os.File // nil once it was kept or given up
}

// private is the mode of what only its owner may read.
const private = 0o600

// newOutFile begins a file. One that is there keeps its mode; a new one gets the
// given one, and so does any that is to be private.
func newOutFile(name string, mode os.FileMode) (*outFile, error) {
	temp, err := os.CreateTemp(filepath.Dir(name), ".hako-*")
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "write output", Subject: name, Err: reasonOf(err), Hint: "see that its folder is there and can be written"}
	}
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			temp.Close()
			os.Remove(temp.Name())
			return nil, &fault.Error{Kind: fault.Invalid, Op: "write output", Subject: name, Why: "it is not a plain file", Hint: "name a file, or leave -o out and redirect standard output"}
		}
		if mode != private {
			mode = info.Mode().Perm()
		}
	}
	return &outFile{name, temp}, temp.Chmod(mode)
}

func (o *outFile) Write(p []byte) (int, error) { return o.temp.Write(p) }

// keep puts the file in its place.
func (o *outFile) keep() error {
	temp := o.temp
	o.temp = nil
	err := errors.Join(temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), o.name)
	}
	if err != nil {
		os.Remove(temp.Name())
		return &fault.Error{Op: "write output", Subject: o.name, Err: reasonOf(err), Hint: "what was there before is still there"}
	}
	return nil
}

// discard gives the file up, unless it was kept.
func (o *outFile) discard() {
	if o.temp != nil {
		o.temp.Close()
		os.Remove(o.temp.Name())
		o.temp = nil
	}
}
