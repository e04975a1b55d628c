// Package disk makes file systems of a fixed size that vanish by themselves.
//
// Inside is [Disk]: an ext4 file system in a file without a name, behind a loop device. A container that has it as a
// volume can fill it and no more; the host and other containers do not notice. Deliberately not here: volumes and
// containers, and what to do where there are no such disks (see [Possible]).
//
// The rule to keep: nothing that this package makes has a name on the disk of the host once New has returned, and no
// device outlives its users. The kernel cleans up, also after hako has been killed at any point: the file is
// unlinked, and the device lets go of it when the last one lets go of the device.
package disk

import (
	"context"
	"os"
	"strconv"

	"hako/run/fault"
)

// Smallest is the size below which there is no room for files beside the file system's own.
const Smallest = 16 << 20

// A Disk is a file system that hako holds until somebody has mounted it. Its file takes as much of the host's disk as
// was written to it, not its size: if the host's own disk is full, writing to a Disk fails before its limit.
type Disk struct {
	device *os.File
	done   chan struct{} // closed when the file system has been made
	err    error         // why it was not; to be read after done
	cancel context.CancelFunc
}

// Device returns the path of the device. It is of use as long as the Disk is not
// closed, or is mounted; after that it may be another's.
func (d *Disk) Device() string { return d.device.Name() }

// Options returns what the "local" driver of a Docker engine on this machine needs to make a volume of the disk.
// Whoever stops the container loses what is in it, and must not start it again: the device may be another's by then.
func (d *Disk) Options() map[string]string {
	return map[string]string{
		"type":   "ext4",
		"device": d.Device(),
		// The file is full of zeros already: were the kernel to write them once
		// more, each disk would take a thirtieth of its size from the host.
		"o": "nosuid,nodev,noinit_itable",
	}
}

// Ready waits until the file system has been made. Nothing may mount it before.
func (d *Disk) Ready(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return &fault.Error{Kind: fault.Timeout, Op: "make disk", Subject: d.Device(),
			Why: "making the file system took too long", Err: ctx.Err()}
	}
}

// Close lets go of the disk. What has been mounted stays until it is unmounted;
// what has not is gone. It may be called more than once.
func (d *Disk) Close() error {
	d.cancel()
	<-d.done
	_ = d.device.Close() // closed already, or nothing that could be lost
	return nil
}

func tooSmall(bytes int64) error {
	return &fault.Error{Kind: fault.Invalid, Op: "make disk", Subject: strconv.FormatInt(bytes, 10) + " bytes",
		Why: "it is too small for a file system", Hint: "give at least " + strconv.Itoa(Smallest>>20) + " MB"}
}

func impossible(why, hint string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "make disk", Why: why, Hint: hint, Err: err}
}
