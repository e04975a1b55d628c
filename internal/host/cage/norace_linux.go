//go:build !race

package cage

// detector is what the race detector is told in a helper; there is none.
var detector []string
