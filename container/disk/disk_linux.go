package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// control is where loop devices are asked for.
const control = "/dev/loop-control"

const plainVolumes = "the limit is then watched rather than enforced; to have it enforced, "

// Possible returns nil if this machine lets us make disks, or why it does not.
func Possible() error {
	if os.Geteuid() != 0 {
		return impossible("only root may attach devices", plainVolumes+"run hako as root", nil)
	}
	c, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return impossible("there are no loop devices", plainVolumes+"load the kernel module loop, or let hako have "+control,
			err)
	}
	c.Close()
	_, err = formatter()
	return err
}

// formatter finds the program that makes file systems; the directories of the system are often not in PATH.
func formatter() (string, error) {
	for _, name := range []string{"mkfs.ext4", "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", impossible("there is no program mkfs.ext4", plainVolumes+"install e2fsprogs", nil)
}

// New makes a disk of at least that many bytes, whose file system belongs to user and group 1000. Its file is in dir,
// which must be on a disk of the host. The file system is made while the caller does something else, see
// [Disk.Ready]. Ctx bounds New alone.
func New(ctx context.Context, dir string, bytes int64) (*Disk, error) {
	if bytes < Smallest {
		return nil, tooSmall(bytes)
	}
	program, err := formatter()
	if err != nil {
		return nil, err
	}
	file, err := unnamedFile(dir)
	if err != nil {
		return nil, fileError(dir, err)
	}
	defer file.Close() // the device keeps it
	if err := file.Truncate((bytes + 4095) &^ 4095); err != nil {
		return nil, fileError(dir, err)
	}
	device, err := attach(ctx, file)
	if err != nil {
		return nil, err
	}
	d := &Disk{device: device, done: make(chan struct{})}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	go func() { d.err = format(running, program, d.Device()); close(d.done) }()
	return d, nil
}

// unnamedFile makes a file that is gone when nobody has it open.
func unnamedFile(dir string) (*os.File, error) {
	// O_EXCL: nobody may give it a name later.
	file, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE|unix.O_EXCL, 0o600)
	if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return file, err
	}
	return unlinked(dir)
}

// unlinked does the same where the file system does not know nameless files.
// If we are killed halfway an empty file stays in dir.
func unlinked(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "disk-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func fileError(dir string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "make disk", Subject: "in " + filepath.Clean(dir), Err: err,
		Hint: "the directory must exist on a disk that has room"}
}

// attempts is how often we ask for a free device. Others may take it between
// being told its number and taking it; so many in a row is no chance.
const attempts = 64

// attach puts a file behind a device that nobody uses.
func attach(ctx context.Context, file *os.File) (*os.File, error) {
	c, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return nil, Possible()
	}
	defer c.Close()
	for range attempts {
		if ctx.Err() != nil {
			return nil, deviceError(ctx.Err())
		}
		number, err := unix.IoctlRetInt(int(c.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, deviceError(err)
		}
		device, err := configure(fmt.Sprintf("/dev/loop%d", number), file)
		if err == nil {
			return device, nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return nil, deviceError(err)
		}
	}
	return nil, deviceError(errors.New("others were faster each time"))
}

func deviceError(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "attach", Subject: "loop device", Err: err,
		Hint: "losetup -a shows which are in use; inside a container there may be none"}
}

func configure(path string, file *os.File) (*os.File, error) {
	device, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Size: 4096}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	copy(config.Info.File_name[:], "hako") // all that losetup can tell of a file without a name
	if err := unix.IoctlLoopConfigure(int(device.Fd()), &config); err != nil {
		device.Close()
		return nil, err
	}
	return device, nil
}

// format makes the file system: without a journal, which only helps after a crash that this disk does not outlive,
// and with many inodes, because what package managers install is small files.
func format(ctx context.Context, program, device string) error {
	cmd := exec.CommandContext(ctx, program, "-q", "-F", "-b", "4096", "-i", "8192", "-m", "0",
		"-O", "^has_journal,^resize_inode", "-E", "lazy_itable_init=1,nodiscard,root_owner=1000:1000", device)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "make disk", Subject: device, Why: strings.TrimSpace(output.String()),
			Err:  err,
			Hint: "the disk of the host may be full"}
	}
	return nil
}
