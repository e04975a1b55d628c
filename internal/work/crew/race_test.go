//go:build race

package crew

// raced is whether the race detector makes everything slow.
const raced = true
