package run

import "time"

// A JobHandle names a background job.
type JobHandle string

// A JobState is the state of a background job.
type JobState string

// The states of a job. All but the first are final.
const (
	JobRunning  JobState = "running"
	JobDone     JobState = "done"      // it ended with status 0
	JobFailed   JobState = "failed"    // it ended with another status, or could not go on
	JobKilled   JobState = "killed"    // somebody stopped it, or its list was closed
	JobTimedOut JobState = "timed out" // the time allowed ran out
	JobDenied   JobState = "denied"    // the policy, or a person, said no
)

// A Job is a command in the background, in whichever runner.
type Job struct {
	Handle  JobHandle `json:"handle"`
	Command string    `json:"command"`
	Reason  string    `json:"reason,omitempty"` // why, in the actor's words
	Actor   string    `json:"actor,omitempty"`
	Pid     int       `json:"pid,omitempty"` // zero means none
	State   JobState  `json:"state"`
	Exit    int       `json:"exit_code"` // zero while it is running
	Signal  int       `json:"signal,omitempty"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Bytes   int64     `json:"bytes"`             // printed so far
	Dropped int64     `json:"dropped,omitempty"` // of these, how many are not kept
	DropWhy string    `json:"dropped_why,omitempty"`
	Why     string    `json:"note,omitempty"` // why it did not run, or was ended
	Hint    string    `json:"hint,omitempty"` // what to do about that
}

// ExitCode is the status of a job that has ended; nil means that it is running.
func (j *Job) ExitCode() *int {
	if j.State == JobRunning {
		return nil
	}
	return &j.Exit
}

// A JobPage is a part of the output of a job. The next one begins at Next; the
// output is over when Ended is true and More is not.
type JobPage struct {
	Data    []byte `json:"-"`
	Offset  int64  `json:"offset"` // where Data begins: the offset asked for, or the first whole character after it that is kept
	Next    int64  `json:"next"`
	Total   int64  `json:"total"`             // bytes printed so far
	Start   int64  `json:"start"`             // how many of them, from the beginning, are no longer kept
	Dropped int64  `json:"dropped,omitempty"` // how many of them, at the end, are not kept
	More    bool   `json:"more"`              // there is something at Next already
	Ended   bool   `json:"ended"`             // the job has ended: nothing will be added
}
