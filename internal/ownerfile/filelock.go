package ownerfile

import (
	"os"

	"hako/run/fault"
)

// Alone waits until no other process changes the file of this name. It locks a file beside it, because the file
// itself may be replaced.
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
