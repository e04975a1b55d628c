// Package worker judges and runs scripts of others in separate processes.
//
// A server with several clients (hako mcp, hako serve) holds tokens, open questions and everybody's sessions. A script
// that exhausts memory, overflows the stack or ignores its time limit must not end that process. So the server has a
// [Pool] of worker processes, which run this same executable. A worker has the gate, the policy and the runner of its
// sandboxes; the record, the budget and the questions stay with the server, which the worker reaches over a socket.
// Workers have limits of the operating system below those of package quota, and the server ends a worker that does not
// stop a script in time. Then the sandboxes of that worker are lost, which belong to one client.
//
// A worker gets no secret: its environment is a short list of variables, its settings come without keys, and the
// server redacts what it sends back.
package worker

import (
	"context"
	"encoding/json"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/quota"
	"hako/run"
)

// Name is argv[0] of a worker process.
const Name = "hako-worker"

// Parts makes and judges for a worker. Package app implements it.
type Parts interface {
	// Open makes a sandbox from a specification of the server.
	Open(spec json.RawMessage, d Services) (Sandbox, error)
	// Judge answers a question about a script without running it.
	Judge(ctx context.Context, spec json.RawMessage) (any, error)
	// Held returns what all sandboxes hold now.
	Held() Held
	// Share takes into account what other workers of the same client hold. An error means that together they hold
	// too much for another request.
	Share(others Held) error
	// Overdue returns the error of a script that has not stopped within grace, or nil.
	Overdue(grace time.Duration) error
}

// A Sandbox is a sandbox inside a worker, behind its gate.
type Sandbox struct {
	run.Runner
	// Close closes the sandbox. It is called once.
	Close func()
	// More makes another sandbox over the same files. Nil means that it cannot.
	More func(spec json.RawMessage, d Services) (Sandbox, error)
	// Info is returned to whoever opened the sandbox; may be nil.
	Info any
}

// Services lead from a sandbox back to the server.
type Services struct {
	Log    audit.Log
	Budget gate.Budget
	Ask    func(context.Context, gate.Question) (gate.Answer, error) // nil means that nobody can be asked
}

// Held is what sandboxes hold: bytes of virtual shells, bytes of shells around programs of the host, and files in
// memory.
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
		Beside uint64 // an open sandbox, or zero
		Asks   bool
		Spec   json.RawMessage
	}
	runMessage struct {
		Box                            uint64
		Request                        run.Request
		Stdin, Stdout, Stderr, Touched bool      // whether these fields of Request are set
		Deadline                       time.Time // of the budget; zero means none
		Others                         Held
	}
	doneMessage struct {
		Result  run.Result
		Pending quota.Usage // not charged yet
		Held    Held
	}
	boxMessage   struct{ Box uint64 }
	eventMessage struct {
		Box   uint64
		Event audit.Event
	}
	chargeMessage struct {
		Box   uint64
		Usage quota.Usage
	}
	askMessage struct {
		Box      uint64
		Question gate.Question
		Deadline time.Time // zero means none
	}
	dyingMessage struct{ Error *wireError }
)
