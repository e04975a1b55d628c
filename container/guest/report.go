package guest

import (
	"time"

	"hako/run"
)

// states are those of jobs in a container.
var states = []run.JobState{run.JobRunning, run.JobDone, run.JobFailed, run.JobKilled, run.JobTimedOut}

// Stats tell what the container uses. What the system does not tell is zero.
type Stats struct {
	Processes   int           `json:"processes"`             // without the guest
	LeftBehind  int           `json:"left_behind,omitempty"` // of these, how many are of commands that have ended
	Running     int           `json:"running"`               // commands and jobs
	Memory      int64         `json:"memory"`
	MemoryLimit int64         `json:"memory_limit"`
	CPU         time.Duration `json:"cpu"` // since the start

	// Disk is what the workspace holds: as the system counts it where it is a file system of its own, else what its
	// files added up to when they were measured last.
	Disk      int64 `json:"disk,omitempty"`
	DiskLimit int64 `json:"disk_limit,omitempty"`
	DiskOwn   bool  `json:"disk_own,omitempty"` // the workspace is a file system of its own

	Guest GuestStats `json:"guest"`
}

// GuestStats tell what the guest itself uses.
type GuestStats struct {
	Memory     int64 `json:"memory"`
	Files      int   `json:"files"`
	Goroutines int   `json:"goroutines"`
	Links      int   `json:"connections"`
}
