package procgroup

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// As calls f with the file access rights of a user and group, if we are root. Other goroutines that f starts would
// run as root.
func As(uid, gid int, f func()) error {
	if os.Geteuid() != 0 || uid == 0 && gid == 0 {
		f()
		return nil
	}
	done := make(chan error)
	go func() { done <- runAs(uid, gid, f) }()
	return <-done
}

// runAs changes the rights of a thread. If they cannot be restored, the thread stays locked, so that it ends with its
// goroutine.
func runAs(uid, gid int, f func()) error {
	runtime.LockOSThread()
	if !setFSUser(uid, gid) {
		return &fault.Error{Kind: fault.Denied, Op: "use files of user",
			Why:  "the system does not let the guest act as that user",
			Hint: "give the container the capabilities SETUID and SETGID"}
	}
	f()
	if setFSUser(0, 0) {
		runtime.UnlockOSThread()
	}
	return nil
}

// setFSUser sets the user and group for file access of this thread, and reports whether it worked.
func setFSUser(uid, gid int) bool {
	_ = unix.Setfsgid(gid)
	_ = unix.Setfsuid(uid)
	g, _ := unix.SetfsgidRetGid(-1)
	u, _ := unix.SetfsuidRetUid(-1)
	return u == uid && g == gid
}
