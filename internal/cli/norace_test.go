//go:build !race

package cli

// raced is whether the race detector makes everything slow.
const raced = false
