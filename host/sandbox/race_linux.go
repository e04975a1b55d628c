//go:build race

package sandbox

// detector keeps the helper of a test with the race detector from sleeping a second before it ends, which the
// detector does for the sake of threads that still run; the helper has none.
var detector = []string{"GORACE=atexit_sleep_ms=0"}
