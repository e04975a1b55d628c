package coder

import "hako/llm"

// A Phase is a part of the work on a task.
type Phase string

// The phases, in their order.
const (
	Planning     Phase = "planning"
	Environment  Phase = "environment"
	Execution    Phase = "execution"
	Verification Phase = "verification"
	Delivery     Phase = "delivery"
	Reporting    Phase = "reporting"
	Ended        Phase = "ended"
)

// A Record is everything that another worker needs to go on with a task. The
// zero value is a task that nobody has begun.
type Record struct {
	State State `json:"state,omitempty"`
	Phase Phase `json:"phase,omitempty"` // that comes next
	After Phase `json:"after,omitempty"` // where a paused task goes on

	Plan        *Plan    `json:"plan,omitempty"`
	Version     int      `json:"version,omitempty"`   // of the plan, from 1
	Because     string   `json:"because,omitempty"`   // why it was changed the last time
	Statement   string   `json:"statement,omitempty"` // what the model is told of the task
	Environment string   `json:"environment,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	Tools       []string `json:"tools,omitempty"` // that the model had

	Items   []llm.Item `json:"items,omitempty"`   // of the dialog, shortened as it grows
	Pending *llm.Item  `json:"pending,omitempty"` // a turn whose calls were not all carried out
	Request string     `json:"request,omitempty"` // what the model is to be told next
	Kept    string     `json:"kept,omitempty"`    // the commit that holds the project as of Items
	Unkept  bool       `json:"unkept,omitempty"`  // something was done to it that could not be kept

	Heard   string   `json:"heard,omitempty"`   // the last comment that was looked at
	Ignored []string `json:"ignored,omitempty"` // who wrote without being authorised

	Count Count          `json:"count"`
	Same  map[string]int `json:"same,omitempty"` // how often each failure was met
	Spent Spent          `json:"spent"`

	Why      string `json:"why,omitempty"`     // it failed or was stopped, or is done without a change
	Hint     string `json:"hint,omitempty"`    // and what can be done
	Summary  string `json:"summary,omitempty"` // the model's last words
	Checks   string `json:"checks,omitempty"`  // what verification came to
	Commit   string `json:"commit,omitempty"`
	Proposal string `json:"proposal,omitempty"`
}

// Count is how much was done, over all workers.
type Count struct {
	Turns       int `json:"turns"`
	Actions     int `json:"actions"`
	Errors      int `json:"errors"`        // in a row, since the last reflection
	Since       int `json:"since"`         // actions since the last reflection
	Unknown     int `json:"unknown_tools"` // calls of tools that do not exist
	Empty       int `json:"empty"`         // turns that said nothing
	Plans       int `json:"plans"`         // asked for, also those that came to nothing
	Reflections int `json:"reflections"`
	Pauses      int `json:"pauses"`
}
