//go:build !linux

package disk

import "context"

// Possible returns why this machine does not let us make disks.
func Possible() error {
	return impossible("there are no loop devices on this system",
		"the limit is watched rather than enforced; enforcing it takes hako as root on Linux", nil)
}

// New returns the same: there are no disks here.
func New(_ context.Context, _ string, bytes int64) (*Disk, error) {
	if bytes < smallest {
		return nil, tooSmall(bytes)
	}
	return nil, Possible()
}
