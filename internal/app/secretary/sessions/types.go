package sessions

import (
	"encoding/json"
	"time"
)

// A Turn is something that happens while she answers.
type Turn struct {
	Type   string          `json:"type"` // text, again, action, result, todo, warning, done
	Text   string          `json:"text,omitempty"`
	Action json.RawMessage `json:"action,omitempty"`
	Result *Outcome        `json:"result,omitempty"`
}

// An Outcome is what came of a command.
type Outcome struct {
	Command  string  `json:"command"`
	Reason   string  `json:"reason,omitempty"` // why she wanted it
	Exit     int     `json:"exit_code"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr"`
	Redacted int     `json:"redacted"`         // places of both streams that have a mark instead of a secret
	Dir      string  `json:"cwd,omitempty"`    // where the next one begins; empty means not known
	Seconds  float64 `json:"seconds"`          // that it ran, without those a person took to approve it; zero means not known
	Denied   string  `json:"denied,omitempty"` // why it was not run
}

// A Session is a conversation.
type Session struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated"`
	Busy    bool      `json:"busy"` // she is answering
}

// A Message is one of a conversation.
type Message struct {
	Role string    `json:"role"` // user, assistant, system
	Text string    `json:"text"`
	Time time.Time `json:"time"`

	Results []Outcome `json:"results,omitempty"` // of commands, if that is what Text tells
}

// A Todo is one of them.
type Todo struct {
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Note     string `json:"note,omitempty"`
	Status   string `json:"status"`   // open, done
	Priority string `json:"priority"` // low, normal, high
	Due      string `json:"due,omitempty"`
	Overdue  bool   `json:"overdue,omitempty"`

	Created time.Time `json:"created,omitzero"` // zero means not known, here and below
	Updated time.Time `json:"updated,omitzero"`
}
