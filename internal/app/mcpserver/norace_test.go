//go:build !race

package mcpserver

// raced is whether the race detector makes everything slow.
const raced = false
