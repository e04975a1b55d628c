// Package disk makes file systems of a fixed size that vanish by themselves.
//
// A [Disk] is an ext4 file system in an unnamed file, behind a loop device. A container that has it as a volume can
// fill it and no more, without effect on the host and other containers. Not here: volumes and containers, and what to
// do where there are no such disks (see [Possible]).
//
// The rule to keep: nothing that this package makes has a name on the disk of the host once New has returned, and no
// device outlives its users. The kernel cleans up even if hako is killed: the file is unlinked, and the device is
// detached with its last user.
package disk

import (
	"context"
	"os"
	"strconv"

	"hako/run/fault"
)

// smallest is the minimum size of a file system.
const smallest = 16 << 20

// A Disk is a file system that hako holds until it is mounted. Its file takes only the space that was written: if the
// host's disk is full, writing to a Disk fails before its limit.
type Disk struct {
	device *os.File
	done   chan struct{} // closed when the file system has been made
	err    error         // valid after done
	cancel context.CancelFunc
}

// Device returns the path of the device. It is valid while the Disk is open or mounted; after that it may belong to
// another.
func (d *Disk) Device() string { return d.device.Name() }

// Options returns the options of Docker's "local" volume driver. A container with the volume must not be started
// again after it has stopped: its data is gone, and the device may belong to another.
func (d *Disk) Options() map[string]string {
	return map[string]string{
		"type":   "ext4",
		"device": d.Device(),
		// The file is full of zeros already: if the kernel wrote them again, each disk would take a thirtieth of its
		// size.
		"o": "nosuid,nodev,noinit_itable",
	}
}

// Ready waits until the file system is complete. It must not be mounted before.
func (d *Disk) Ready(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return &fault.Error{Kind: fault.Timeout, Op: "make disk", Subject: d.Device(),
			Why: "making the file system took too long", Err: ctx.Err()}
	}
}

// Close releases the disk. If it is mounted, it stays until it is unmounted. It may be called more than once.
func (d *Disk) Close() error {
	d.cancel()
	<-d.done
	_ = d.device.Close() // already closed, or nothing to lose
	return nil
}

func tooSmall(bytes int64) error {
	return &fault.Error{Kind: fault.Invalid, Op: "make disk", Subject: strconv.FormatInt(bytes, 10) + " bytes",
		Why: "it is too small for a file system", Hint: "give at least " + strconv.Itoa(smallest>>20) + " MB"}
}

func impossible(why, hint string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "make disk", Why: why, Hint: hint, Err: err}
}
