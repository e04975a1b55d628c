// Package tasksapi shows people the tasks of the coding agent and the sandboxes
// there are, and passes on what they want of them.
//
// Inside are two sources: [Tasks] over the queue, wherever the work is done, and
// [Boxes] over the dock and the sandboxes of the MCP door. Nothing is worked on
// here, no container is made, and nothing is drawn. The one rule to keep: looking
// changes nothing and waits for nobody, neither for a reader that is slow nor for
// a container that does not answer; what changes something is on record first.
package tasksapi

import (
	"hako/internal/web/source"
	"hako/run/fault"
)

// A Record puts on record what somebody is about to do, and returns what puts on
// record how it ended. What it refuses is not done; nil refuses everything.
type Record func(who source.Actor, what string) (done func(error), err error)

// deed does something that is on record.
func (r Record) deed(who source.Actor, what string, do func() error) error {
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
