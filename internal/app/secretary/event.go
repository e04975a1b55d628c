package secretary

import (
	"fmt"
	"time"

	"hako/gate"
	"hako/internal/text"
	"hako/llm"
	"hako/run/fault"
)

// An Event is something that happens in a conversation. Terminal, page and --json
// all show these.
type Event struct {
	Type   string
	Text   string  // of text a piece of the answer; of output all that a command line printed
	Action *Action // that begins
	Result *Result // of an action that ended
	Beside bool    // of an action or a result: others run at the same time

	Command  string         // of output: the line
	Question *gate.Question // that is put to a person now
	Answer   *Answer        // of a turn that ended
	Err      error          // of done and output: nil means that it worked; of warning: nil means that Text has it all; of retry: why
}

// The types of events.
const (
	Text      = "text"     // a piece of the answer
	Again     = "again"    // the answer begins anew: forget the pieces
	ReplyDone = "reply"    // an answer is complete; others may follow in the same turn
	Started   = "action"   // a command starts
	Ended     = "result"   // a command has ended
	TodoDone  = "todo"     // the to-do list was changed
	Asked     = "question" // a person is asked
	Printed   = "output"   // a line for hako itself (/todo, @job) was carried out
	Note      = "note"     // something to know
	Retry     = "retry"    // the model is asked again after a pause
	Warning   = "warning"  // something does not work but does not matter
	Done      = "done"     // the turn has ended
)

// warningOf makes a warning of an error, with what to do about it.
func warningOf(err error) Event {
	s := text.ForTerminal(err.Error())
	if h := fault.Hint(err); h != "" {
		s += " (" + h + ")"
	}
	return Event{Type: Warning, Text: s, Err: err}
}

// Retrying reports a pause before the model is asked again.
func (c *Conversation) Retrying(p llm.Waiting) {
	c.report(Event{Type: Retry, Err: p.Err,
		Text: fmt.Sprintf("%v; trying again in %v (%d of %d)", p.Err, p.Wait.Round(10*time.Millisecond), p.Tried+1, p.Tries)})
}
