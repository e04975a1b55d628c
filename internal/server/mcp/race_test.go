//go:build race

package mcp

// raced is whether the race detector makes everything slow.
const raced = true
