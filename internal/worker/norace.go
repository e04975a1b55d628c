//go:build !race

package worker

// idleMemory is the memory of an idle worker.
const idleMemory = 48 << 20
