package questions

import "time"

// A Question is what an approver sees.
type Question struct {
	ID      string    `json:"id"`
	Actor   string    `json:"actor"`
	Session string    `json:"session,omitempty"` // the conversation in which it is asked; empty means none
	Command string    `json:"command"`
	Script  string    `json:"script,omitempty"` // what the command is part of; empty means not known
	Dir     string    `json:"dir,omitempty"`
	Reason  string    `json:"reason,omitempty"` // of who asks, in its own words
	Why     string    `json:"why"`              // the rule's
	Rule    string    `json:"rule,omitempty"`
	Asked   time.Time `json:"asked"`
	Ends    time.Time `json:"ends"` // silence until then is a no
}

// An Answer is what a person decides.
type Answer string

// The answers.
const (
	Once       Answer = "once"
	ForSession Answer = "session"
	No         Answer = "deny"
)
