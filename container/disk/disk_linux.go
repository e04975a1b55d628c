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

const control = "/dev/loop-control"

const plainVolumes = "the limit is then watched rather than enforced; to have it enforced, "

// Possible returns nil if this machine can make disks, or the reason.
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

// formatter finds mkfs.ext4, which is often not in PATH.
func formatter() (string, error) {
	for _, name := range []string{"mkfs.ext4", "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", impossible("there is no program mkfs.ext4", plainVolumes+"install e2fsprogs", nil)
}

// New makes a disk of at least that many bytes, owned by user and group 1000. Its file is in dir, which must be on a
// disk of the host. The file system is made in the background, see [Disk.Ready]. Ctx applies to New alone.
func New(ctx context.Context, dir string, bytes int64) (*Disk, error) {
	if bytes < smallest {
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
	defer file.Close() // the device keeps it open
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

// unnamedFile creates a file that vanishes when it is closed.
func unnamedFile(dir string) (*os.File, error) {
	// O_EXCL: it can never get a name.
	file, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE|unix.O_EXCL, 0o600)
	if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return file, err
	}
	return unlinked(dir)
}

// unlinked does the same on file systems without O_TMPFILE. If the process is killed halfway, an empty file stays.
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

// attempts is how often a free device is requested. Another process can take it first.
const attempts = 64

// attach attaches a file to a free loop device.
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
	copy(config.Info.File_name[:], "hako") // the name that losetup shows
	if err := unix.IoctlLoopConfigure(int(device.Fd()), &config); err != nil {
		device.Close()
		return nil, err
	}
	return device, nil
}

// format makes the file system: without a journal, because the disk does not outlive a crash, and with many inodes,
// because packages consist of small files.
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
