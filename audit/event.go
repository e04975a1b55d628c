// Package audit is a tamper-evident log of what was requested, decided and done:
// one JSON object a line, each with the hash of the one before.
//
// The log is append-only. [VerifyFile] detects that a line was changed, added or
// removed, within the limits that docs/audit.md describes. What an event describes
// must not be done if the event cannot be written. Package audit/sqlite has search
// and statistics.
package audit

import (
	"strings"
	"time"
)

// The types of events. A request is asked, then started or denied, and ended.
const (
	Asked    = "asked"    // a script was requested
	Judged   = "judged"   // the policy requires approval
	Approved = "approved" // a person said yes
	Refused  = "refused"  // a person refused, or nobody answered
	Denied   = "denied"   // the policy said no
	Started  = "started"  // the runner starts the script
	Allowed  = "allowed"  // one command of it, with its expanded words
	Opened   = "opened"   // a file or connection
	Closed   = "closed"   // a file, with the bytes that passed
	Removed  = "removed"  // a file
	Model    = "model"    // a call of a language model
	Called   = "called"   // a model calls a tool
	Answered = "answered" // the result of that call
	Ordered  = "ordered"  // a person requests something other than a script
	Ended    = "ended"    // the outcome of the request
)

// An Event is one line of the record. Fields that do not apply stay empty.
// Seq, Time, Prev, Hash and Recovered are set by the [Log].
type Event struct {
	Seq      int64     `json:"seq"`
	Time     time.Time `json:"time"`
	ID       string    `json:"id,omitempty"`
	Actor    string    `json:"actor,omitempty"`
	What     string    `json:"what"`
	Script   string    `json:"script,omitempty"`
	Argv     []string  `json:"argv,omitempty"`
	Effect   string    `json:"effect,omitempty"` // allow, ask, deny
	Rule     string    `json:"rule,omitempty"`   // file:line
	Reason   string    `json:"reason,omitempty"`
	Exit     int       `json:"exit,omitempty"` // always written for ended
	Error    string    `json:"error,omitempty"`
	Kind     string    `json:"kind,omitempty"` // of the error
	Micros   int64     `json:"duration_us,omitempty"`
	Path     string    `json:"path,omitempty"`
	Mode     string    `json:"mode,omitempty"` // read, written, network
	Bytes    int64     `json:"bytes,omitempty"`
	Count    int64     `json:"count,omitempty"` // how many occurrences one event stands for; zero means one
	Provider string    `json:"model,omitempty"`
	Input    int64     `json:"input_tokens,omitempty"`
	Cached   int64     `json:"cached_tokens,omitempty"`
	Output   int64     `json:"output_tokens,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"` // weighted
	Cost     float64   `json:"cost,omitempty"`   // in dollars

	// Marked means that [Event.Bounded] has cut texts that were too long. It is
	// not written.
	Marked bool `json:"-"`

	Commands  map[string]int `json:"commands,omitempty"` // how often each ran
	Recovered *Torn          `json:"recovered,omitempty"`
	Prev      string         `json:"prev"`
	Hash      string         `json:"hash"`
}

// Torn describes the piece of a line that a crash left before an event.
type Torn struct {
	Bytes int64  `json:"bytes"`
	Hash  string `json:"hash"` // sha256 of the piece
}

// A Log records events. If Append fails, the event is not recorded, and what it describes must not be done.
type Log interface {
	Append(Event) error
}

// About returns what an event is about in one text: the tool and its arguments, the model, the script, the words
// of a command or the path of a file. It is empty for an event that only continues its request.
func (e *Event) About() string {
	switch {
	case e.What == Called:
		return strings.TrimSpace(e.Path + " " + e.Script)
	case e.What == Answered:
		return e.Path
	case e.Provider != "":
		return e.Provider
	case e.Script != "":
		return e.Script
	case len(e.Argv) > 0 && e.Mode == "network":
		return strings.Join(e.Argv, " ") + " " + e.Path
	case len(e.Argv) > 0:
		return strings.Join(e.Argv, " ")
	}
	return e.Path
}

// Times returns how many occurrences the event stands for.
func (e *Event) Times() int64 { return max(e.Count, 1) }
