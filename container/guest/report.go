package guest

import (
	"time"
)

// A State is how a job is.
type State string

// The states. All but the first are final.
const (
	Running  State = "running"
	Done     State = "done"      // it ended with status 0
	Failed   State = "failed"    // it ended with another status
	Killed   State = "killed"    // somebody stopped it
	TimedOut State = "timed out" // its time ran out
)

var states = []State{Running, Done, Failed, Killed, TimedOut}

// A Handle names a job.
type Handle string

// A Job tells how a command in the background is.
type Job struct {
	Handle  Handle    `json:"handle"`
	Command string    `json:"command"`
	Pid     int       `json:"pid"`
	State   State     `json:"state"`
	Exit    int       `json:"exit_code"` // as in Result; zero while it is running
	Signal  int       `json:"signal,omitempty"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Bytes   int64     `json:"bytes"`             // printed so far
	Dropped int64     `json:"dropped,omitempty"` // of these, how many are not kept
	DropWhy string    `json:"dropped_why,omitempty"`
	Note    string    `json:"note,omitempty"` // as in Result
}

// A Tail is the end of what a job printed on one stream.
type Tail struct {
	Data []byte
	Cut  int64 // bytes before Data that are not in it
}

// A Page is a part of the output of a job. The next one begins at Next; the
// output is over when Ended is true and More is not.
type Page struct {
	Data   []byte `json:"-"`
	Offset int64  `json:"offset"` // where Data begins: the offset asked for, or the first byte after it that is kept
	Next   int64  `json:"next"`
	Total  int64  `json:"total"` // bytes printed so far
	Start  int64  `json:"start"` // how many of them, from the beginning, are no longer kept
	More   bool   `json:"more"`  // there is something at Next already
	Ended  bool   `json:"ended"` // the job has ended: nothing will be added
}

// Stats tell what the container uses. What the system does not tell is zero.
type Stats struct {
	Processes   int           `json:"processes"`             // without the guest
	LeftBehind  int           `json:"left_behind,omitempty"` // of these, how many are of commands that have ended
	Running     int           `json:"running"`               // commands and jobs
	Memory      int64         `json:"memory"`
	MemoryLimit int64         `json:"memory_limit"`
	CPU         time.Duration `json:"cpu"` // since the start

	// Disk is what the workspace holds: as the system counts it where it is a
	// file system of its own, else what its files added up to when they were
	// measured last.
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
