//go:build race

package worker

// idleMemory is the memory of an idle worker with the race detector.
const idleMemory = 1 << 30
