package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// pending returns the number of bytes in a pipe.
func pending(f *os.File) int {
	n := 0
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

// unread reads the rest of a pipe without blocking. The program that read from it has ended.
func unread(f *os.File) []byte {
	b := make([]byte, pending(f))
	raw, err := f.SyscallConn()
	if err != nil || len(b) == 0 {
		return nil
	}
	n := 0
	_ = raw.Control(func(fd uintptr) {
		if unix.SetNonblock(int(fd), true) == nil {
			n, _ = unix.Read(int(fd), b)
		}
	})
	return b[:max(n, 0)]
}
