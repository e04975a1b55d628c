package guest

import (
	"time"

	"hako/run"
)

// states are the possible states of a job.
var states = []run.JobState{run.JobRunning, run.JobDone, run.JobFailed, run.JobKilled, run.JobTimedOut}

// Stats measure the container. What the system does not report is zero.
type Stats struct {
	Processes   int           `json:"processes"`             // without the guest
	LeftBehind  int           `json:"left_behind,omitempty"` // of these, how many are of commands that have ended
	Running     int           `json:"running"`               // commands and jobs
	Memory      int64         `json:"memory"`
	MemoryLimit int64         `json:"memory_limit"`
	CPU         time.Duration `json:"cpu"` // since the start

	// Disk is the size of the workspace: of the file system if it is one of its own, else of its files when they were
	// last measured.
	Disk      int64 `json:"disk,omitempty"`
	DiskLimit int64 `json:"disk_limit,omitempty"`
	DiskOwn   bool  `json:"disk_own,omitempty"` // the workspace is a file system of its own

	Guest GuestStats `json:"guest"`
}

// GuestStats measure the guest itself.
type GuestStats struct {
	Memory     int64 `json:"memory"`
	Files      int   `json:"files"`
	Goroutines int   `json:"goroutines"`
	Links      int   `json:"connections"`
}
