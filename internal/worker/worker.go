// Package worker judges and runs somebody else's text in a process of its own.
//
// A door that serves several clients (hako mcp, hako serve) holds tokens, open
// questions and everybody's sessions. A script that exhausts memory, overflows a
// stack or does not notice that its time is up must not take that process with
// it. So the door keeps a [Pool] of worker processes, which are this same binary.
// A worker has the gate, the policy and the runner of its boxes; the record, the
// budget and the person who answers questions stay with the door, and the worker
// reaches them over a socket. Below the limits of package quota a worker has
// those of the operating system, and the door ends a worker that does not end a
// script in time. What is lost then is the boxes of this one worker, which all
// belong to one client.
//
// The rule to keep: a worker gets no secret. Its environment is a short list of
// variables, its settings come without keys, and what it sends back is redacted
// by the door.
package worker

import (
	"context"
	"encoding/json"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/run"
)

// Name is what a worker process is called by.
const Name = "hako-worker"

// Parts are what a worker is made of. Package cli has those of hako.
type Parts interface {
	// Open makes a box from a specification that the door wrote.
	Open(spec json.RawMessage, d Services) (Sandbox, error)
	// Policy answers a question about a script, without running anything.
	Judge(ctx context.Context, spec json.RawMessage) (any, error)
	// Held returns what all boxes hold now.
	Held() Held
	// Share takes into account what other workers of the same client hold. An
	// error means that together they hold too much for one more request.
	Share(others Held) error
	// Overdue returns the error of a script that goes on although it was told
	// to stop longer than grace ago, or nil.
	Overdue(grace time.Duration) error
}

// A Sandbox is one sandbox inside a worker, behind its gate.
type Sandbox struct {
	run.Runner
	// Close gives the box up. It is called once.
	Close func()
	// More makes a box beside this one, over the same files. Nil means that
	// there can be none.
	More func(spec json.RawMessage, d Services) (Sandbox, error)
	// Info is returned to whoever opened the box. Nil means nothing.
	Info any
}

// A Services is the way from a box back to the process that started the worker.
type Services struct {
	Log    audit.Log
	Budget gate.Budget
	Ask    func(context.Context, gate.Question) (gate.Answer, error) // nil means that nobody is there
}

// Held is what sandboxes hold: bytes of virtual shells, bytes of shells around
// programs of the host, and files in memory.
type Held struct{ Virtual, Host, Files int64 }

func (h Held) plus(o Held) Held {
	return Held{h.Virtual + o.Virtual, h.Host + o.Host, h.Files + o.Files}
}

func (h Held) minus(o Held) Held {
	return Held{h.Virtual - o.Virtual, h.Host - o.Host, h.Files - o.Files}
}

// The messages.
type (
	setUpMessage struct {
		Settings json.RawMessage
		Memory   int64 // bytes beyond those of an idle process; zero means no limit
	}
	openMessage struct {
		Box    uint64
		Beside uint64 // an open box, or zero
		Asks   bool
		Spec   json.RawMessage
	}
	runMessage struct {
		Box                       uint64
		ID, Actor, Reason, Script string
		Dir                       string
		Env, Args                 []string
		Timeout                   time.Duration
		Stdin, Stdout, Stderr     bool
		Confirm, Touched          bool
		Deadline                  time.Time // of the budget; zero means none
		Others                    Held
	}
	doneMessage struct {
		Result  run.Result
		Pending usageMessage // not charged yet
		Held    Held
	}
	boxMessage   struct{ Box uint64 }
	eventMessage struct {
		Box   uint64
		Event audit.Event
	}
	chargeMessage struct {
		Box   uint64
		Usage usageMessage
	}
	askMessage struct {
		Box      uint64
		Question gate.Question
		Deadline time.Time // zero means none
	}
	dyingMessage struct{ Error *wireError }
)

// usageMessage is what a request consumed.
type usageMessage struct{ Read, Written, Scripts int64 }
