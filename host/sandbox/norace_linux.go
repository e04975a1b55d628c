//go:build !race

package sandbox

// detector configures the race detector in a helper; there is none.
var detector []string
