//go:build race

package sandbox

// detector avoids a delay of one second at the end of a helper under the race detector.
var detector = []string{"GORACE=atexit_sleep_ms=0"}
