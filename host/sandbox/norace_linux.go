//go:build !race

package sandbox

// detector is what the race detector is told in a helper; there is none.
var detector []string
