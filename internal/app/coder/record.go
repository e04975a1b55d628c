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

// A Record is everything that another worker needs to continue a task. The zero value
// is a task that was not begun.
type Record struct {
	State State `json:"state,omitempty"`
	Phase Phase `json:"phase,omitempty"` // that comes next
	After Phase `json:"after,omitempty"` // where a paused task continues

	Plan        *Plan    `json:"plan,omitempty"`
	Version     int      `json:"version,omitempty"`   // of the plan, from 1
	Because     string   `json:"because,omitempty"`   // why it was changed last
	Statement   string   `json:"statement,omitempty"` // the description of the task for the model
	Environment string   `json:"environment,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	Tools       []string `json:"tools,omitempty"` // that the model had

	Items   []llm.Item `json:"items,omitempty"`   // of the dialog, compacted as it grows
	Pending *llm.Item  `json:"pending,omitempty"` // a turn whose calls were not all carried out
	Request string     `json:"request,omitempty"` // the next message to the model
	Kept    string     `json:"kept,omitempty"`    // the commit that has the project as of Items
	Unkept  bool       `json:"unkept,omitempty"`  // something was done to it that could not be saved

	Heard   string   `json:"heard,omitempty"`   // the last comment that was read
	Ignored []string `json:"ignored,omitempty"` // authors of comments who are not authorised

	Count Count          `json:"count"`
	Same  map[string]int `json:"same,omitempty"` // count of each failure
	Spent Spent          `json:"spent"`

	Why      string `json:"why,omitempty"`     // it failed or was stopped, or is done without a change
	Hint     string `json:"hint,omitempty"`    // what can be done about it
	Summary  string `json:"summary,omitempty"` // the model's final answer
	Checks   string `json:"checks,omitempty"`  // the outcome of the verification
	Commit   string `json:"commit,omitempty"`
	Proposal string `json:"proposal,omitempty"`
}

// Count counts what was done, by all workers.
type Count struct {
	Turns       int `json:"turns"`
	Actions     int `json:"actions"`
	Errors      int `json:"errors"`        // in a row, since the last reflection
	Since       int `json:"since"`         // actions since the last reflection
	Unknown     int `json:"unknown_tools"` // calls of tools that do not exist
	Empty       int `json:"empty"`         // empty turns
	Plans       int `json:"plans"`         // requested, also those that could not be read
	Reflections int `json:"reflections"`
	Pauses      int `json:"pauses"`
}
