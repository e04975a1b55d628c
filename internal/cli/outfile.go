package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hako/internal/agent"
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
	real := resolve(name) // a link stays one; what it leads to is replaced
	info, err := os.Stat(real)
	if err == nil && !info.Mode().IsRegular() || special(real) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "write output", Subject: name, Why: "it is not a plain file", Hint: "name a file, or leave it out and redirect standard output"}
	}
	// The mode is what the user's mask leaves of it.
	temp, cerr := os.OpenFile(filepath.Join(filepath.Dir(real), ".hako-"+agent.NewID()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if cerr != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "write output", Subject: name, Err: reasonOf(cerr), Hint: "see that its folder is there and can be written"}
	}
	if err == nil && mode != private {
		return &outFile{real, temp}, temp.Chmod(info.Mode().Perm())
	}
	return &outFile{real, temp}, nil
}

// special tells whether a path leads to what only looks like a file.
func special(path string) bool {
	path, err := filepath.Abs(path)
	return err != nil || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
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
