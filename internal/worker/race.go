//go:build race

package worker

// idleMemory is what an idle worker may use of its own, with what the race
// detector keeps beside everything.
const idleMemory = 1 << 30
