package ownerfile

import (
	"os"

	"hako/run/fault"
)

// Alone waits until no other process is changing, or making, the file of this
// name. The lock is on a file beside it: the file itself may be exchanged.
func Alone(path string) (unlock func(), err error) {
	f, err := Open(path+".lock", os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		f.Close()
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "lock", Subject: path, Err: err}
	}
	return func() {
		Unlock(f)
		f.Close()
	}, nil
}
