package secretary

import (
	"fmt"
	"time"

	"hako/gate"
	"hako/internal/text"
	"hako/llm"
	"hako/run/fault"
)

// An Event is something that happens in a conversation. Terminal, web page and --json show the same events.
type Event struct {
	Type   string
	Text   string  // text: a piece of the answer; output: the output of a command line
	Action *Action // action
	Result *Result // result
	Beside bool    // action, result: others run at the same time

	Command  string         // output: the line
	Question *gate.Question // question
	Answer   *Answer        // done
	Err      error          // done, output: nil means success; warning: nil means that Text says it all; retry: why
}

// The types of events.
const (
	Text      = "text"     // a piece of the answer
	Again     = "again"    // the answer restarts: discard the pieces
	ReplyDone = "reply"    // a reply is complete; others may follow in the same turn
	Started   = "action"   // a command starts
	Ended     = "result"   // a command has ended
	TodoDone  = "todo"     // the to-do list was changed
	Asked     = "question" // a person is asked
	Printed   = "output"   // a command line (/todo, @job) was carried out
	Note      = "note"     // information
	Retry     = "retry"    // the model is asked again after a pause
	Warning   = "warning"  // something failed without ending the turn
	Done      = "done"     // the turn has ended
)

// warningEvent converts an error to an event, with its hint.
func warningEvent(err error) Event {
	s := text.ForTerminal(err.Error())
	if h := fault.Hint(err); h != "" {
		s += " (" + h + ")"
	}
	return Event{Type: Warning, Text: s, Err: err}
}

// Retrying reports a pause before the model is called again.
func (c *Conversation) Retrying(p llm.Waiting) {
	c.report(Event{Type: Retry, Err: p.Err,
		Text: fmt.Sprintf("%v; trying again in %v (%d of %d)", p.Err, p.Wait.Round(10*time.Millisecond), p.Tried+1, p.Tries)})
}
