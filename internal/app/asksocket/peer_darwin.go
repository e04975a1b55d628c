package asksocket

import (
	"net"

	"golang.org/x/sys/unix"
)

const hasPeerCredentials = true

// peerCredentials returns user and process ID of the other end.
func peerCredentials(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid = int(cred.Uid)
			pid, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if cerr != nil {
		return 0, 0, cerr
	}
	return uid, pid, err
}
