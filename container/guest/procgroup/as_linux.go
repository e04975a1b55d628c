package procgroup

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// As calls f with the rights that user and group have on files, where we are root. What f does on other goroutines is
// done as root, so it must not do anything there.
func As(uid, gid int, f func()) error {
	if os.Geteuid() != 0 || uid == 0 && gid == 0 {
		f()
		return nil
	}
	done := make(chan error)
	go func() { done <- runAs(uid, gid, f) }()
	return <-done
}

// runAs gives a thread other rights and takes care that nobody else gets it
// like that: the thread ends with a goroutine that is still locked to it.
func runAs(uid, gid int, f func()) error {
	runtime.LockOSThread()
	if !setFSUser(uid, gid) {
		return &fault.Error{Kind: fault.Denied, Op: "use files of user",
			Why:  "the system does not let the guest take that user's place",
			Hint: "give the container the capabilities SETUID and SETGID"}
	}
	f()
	if setFSUser(0, 0) {
		runtime.UnlockOSThread()
	}
	return nil
}

// setFSUser sets whom the files of this thread are used as and looks whether it worked.
func setFSUser(uid, gid int) bool {
	_ = unix.Setfsgid(gid)
	_ = unix.Setfsuid(uid)
	g, _ := unix.SetfsgidRetGid(-1)
	u, _ := unix.SetfsuidRetUid(-1)
	return u == uid && g == gid
}
