//go:build race

package dispatch

// raced is whether the race detector makes everything slow.
const raced = true
