//go:build race

package redact

// slower is how much longer everything takes under the race detector.
const slower = 16
