package setup

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var made, ended, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &made, &ended, &kernel, &user) != nil {
		return 0
	}
	return lasted(kernel) + lasted(user)
}

// lasted is a duration, which Windows tells in steps of 100 ns.
func lasted(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
