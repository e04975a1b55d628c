//go:build !race

package main

// raced is whether the race detector makes everything slow.
const raced = false
