//go:build !race

package worker

// idleMemory is what an idle worker may use of its own.
const idleMemory = 48 << 20
