// Package access says who is logged in and what they may do, and puts on record
// what people change.
package access

import "hako/run/fault"

// An Actor is who is logged in.
type Actor struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}

// A Role is what an actor may do.
type Role string

// The roles.
const (
	Reader   Role = "reader"   // reads
	Operator Role = "operator" // also approves, stops and talks
	Client   Role = "client"   // uses MCP and nothing else: it must not approve what it asks for
)

// A Recorder puts on record what an actor is about to do, and returns what records
// the outcome. What it refuses is not done; nil refuses everything.
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
