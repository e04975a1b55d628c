// Package access defines users, their roles, and the recording of what they do.
package access

import "hako/run/fault"

// An Actor is a logged-in user.
type Actor struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}

// A Role determines what an actor may do.
type Role string

// The roles.
const (
	Reader   Role = "reader"   // reads
	Operator Role = "operator" // also approves, stops and talks
	Client   Role = "client"   // uses MCP only: it must not approve its own requests
)

// A Recorder records an action before it is carried out, and returns a function that records its outcome. An error
// prevents the action; nil refuses everything.
type Recorder func(who Actor, what string) (done func(error), err error)

// Do records an action, carries it out and records its outcome.
func (r Recorder) Do(who Actor, what string, do func() error) error {
	if r == nil {
		return &fault.Error{Kind: fault.Denied, Op: what, Why: "nobody keeps a record"}
	}
	done, err := r(who, what)
	if err != nil {
		return err
	}
	err = do()
	done(err)
	return err
}
