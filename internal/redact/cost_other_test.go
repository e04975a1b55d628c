//go:build !linux

package redact

import "time"

// cost is the time that it takes.
func cost(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
