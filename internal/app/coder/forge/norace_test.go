//go:build !race

package forge

// raced is whether the race detector makes everything slow.
const raced = false
