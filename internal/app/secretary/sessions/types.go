package sessions

import (
	"encoding/json"
	"time"
)

// A Turn is an event of a turn.
type Turn struct {
	Type   string          `json:"type"` // text, again, action, result, todo, warning, done
	Text   string          `json:"text,omitempty"`
	Action json.RawMessage `json:"action,omitempty"`
	Result *Outcome        `json:"result,omitempty"`
}

// An Outcome is the result of a command.
type Outcome struct {
	Command  string  `json:"command"`
	Reason   string  `json:"reason,omitempty"` // why the secretary ran it
	Exit     int     `json:"exit_code"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr"`
	Redacted int     `json:"redacted"`         // redactions in both streams
	Dir      string  `json:"cwd,omitempty"`    // working directory afterwards; empty means unknown
	Seconds  float64 `json:"seconds"`          // without waiting for approval; zero means unknown
	Denied   string  `json:"denied,omitempty"` // why it was denied
}

// A Session is a conversation.
type Session struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated"`
	Busy    bool      `json:"busy"` // a turn is running
}

// A Message is a message of a conversation.
type Message struct {
	Role string    `json:"role"` // user, assistant, system
	Text string    `json:"text"`
	Time time.Time `json:"time"`

	Results []Outcome `json:"results,omitempty"` // of the commands that Text reports
}

// A Todo is an entry of the to-do list.
type Todo struct {
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Note     string `json:"note,omitempty"`
	Status   string `json:"status"`   // open, done
	Priority string `json:"priority"` // low, normal, high
	Due      string `json:"due,omitempty"`
	Overdue  bool   `json:"overdue,omitempty"`

	Created time.Time `json:"created,omitzero"` // zero means unknown, also below
	Updated time.Time `json:"updated,omitzero"`
}
