package redact

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// cost is the time of the processor that it takes: the machine has other things
// to do as well.
func cost(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := worked()
	do()
	return worked() - began
}

// worked is how long this thread has been at work.
func worked() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
