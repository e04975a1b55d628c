package asksocket

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const hasPeerCredentials = true

// peerCredentials returns user and process ID of the other end. The process ID is zero in another PID namespace.
func peerCredentials(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil {
		return 0, 0, cerr
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}

// maxAddress is the maximum length of a socket address.
const maxAddress = 107

// socketPath returns a short enough name of the socket in dir, valid until done.
func socketPath(dir string) (name string, done func(), err error) {
	if name = filepath.Join(dir, socketName); len(name) <= maxAddress {
		return name, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName), func() { d.Close() }, nil
}
