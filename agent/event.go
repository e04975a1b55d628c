package agent

import "hako/quota"

// An Event reports a step of an agent. Fields that do not apply to its type are empty. docs/events.md describes them
// for programs that read them.
type Event struct {
	Type string `json:"type"`           // start, turn, text, call, result, answer, note, retry, compacted, searched, usage, error
	Turn int    `json:"turn,omitempty"` // from 1

	Text string `json:"text,omitempty"` // a piece, an answer, an output, a note

	ID        string `json:"id,omitempty"` // of a call and its result
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	OK        *bool  `json:"ok,omitempty"`   // of a result
	Kind      string `json:"kind,omitempty"` // of a failure
	Hint      string `json:"hint,omitempty"`
	Millis    int64  `json:"duration_ms,omitempty"`

	Model    string       `json:"model,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Usage    *quota.Usage `json:"usage,omitempty"`
	Cost     *float64     `json:"cost_usd,omitempty"` // missing means that the model has no known price
}

func (l *loop) observe(e Event) {
	if l.Observe != nil {
		e.Turn = l.turn
		l.Observe(e)
	}
}
