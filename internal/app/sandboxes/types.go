package sandboxes

import "time"

// A Sandbox is a sandbox or container.
type Sandbox struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind"` // virtual, host, container
	Environment string    `json:"environment,omitempty"`
	State       string    `json:"state"`
	Owner       string    `json:"owner,omitempty"`
	Network     string    `json:"network,omitempty"`
	Created     time.Time `json:"created"`
	Usage       *Usage    `json:"usage,omitempty"` // nil means unknown
	Jobs        []Job     `json:"jobs,omitempty"`
}

// Usage is the resource usage of a sandbox.
type Usage struct {
	CPUSeconds  float64 `json:"cpu_seconds"`
	Memory      int64   `json:"memory_bytes"`
	MemoryLimit int64   `json:"memory_limit_bytes"`
	Disk        int64   `json:"disk_bytes"`
	DiskLimit   int64   `json:"disk_limit_bytes"`
	Processes   int     `json:"processes"`
}

// A Job is a background job.
type Job struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	State   string    `json:"state"`
	Exit    *int      `json:"exit_code,omitempty"`
	Started time.Time `json:"started"`
}
