package tasks

import "time"

// A Status is the status of a task, as the HTTP API returns it.
type Status struct {
	ID       string    `json:"id"` // github/owner/project/issue/12
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	URL      string    `json:"url,omitempty"`
	State    string    `json:"state"`
	Phase    string    `json:"phase,omitempty"`
	Worker   string    `json:"worker,omitempty"`
	Plan     []string  `json:"plan,omitempty"`
	Goal     string    `json:"goal,omitempty"`
	Why      string    `json:"why,omitempty"`
	Summary  string    `json:"summary,omitempty"`
	Proposal string    `json:"proposal,omitempty"`
	Tokens   int64     `json:"tokens"`
	Cost     float64   `json:"cost_usd"`
	Changed  time.Time `json:"changed"`
}

// A Step is something that happened to a task.
type Step struct {
	Task  string    `json:"task"`
	Time  time.Time `json:"time"`
	Type  string    `json:"type"` // phase, call, result, note, heard, ignored, state
	Phase string    `json:"phase,omitempty"`
	Name  string    `json:"name,omitempty"`
	Text  string    `json:"text,omitempty"`
	OK    *bool     `json:"ok,omitempty"`
}
