// Package testload stretches the bounds of tests on a busy machine. A bound in
// seconds only guards against hanging; on a machine with more work than
// processors the same work takes longer.
package testload

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Bound returns d on an idle machine, and more where tasks wait for a processor:
// d times one plus the load for each processor.
func Bound(d time.Duration) time.Duration {
	text, _ := os.ReadFile("/proc/loadavg") // missing outside of Linux: no load
	return stretched(d, string(text), runtime.NumCPU())
}

// stretched takes the larger of the load of the last minute and of the tasks that
// are runnable now from the text of /proc/loadavg, "0.20 0.18 0.12 1/80 11206".
func stretched(d time.Duration, loadavg string, processors int) time.Duration {
	fields := strings.Fields(loadavg)
	if len(fields) < 4 {
		return d
	}
	minute, _ := strconv.ParseFloat(fields[0], 64)
	runnable, _, _ := strings.Cut(fields[3], "/")
	now, _ := strconv.ParseFloat(runnable, 64)
	return d + time.Duration(float64(d)*max(minute, now)/float64(processors))
}
