// Package llm defines language models: a [Dialog] goes in, the next [Turn] comes out of [Model].Next.
//
// The providers are packages of their own: openai, ollama, rules (no network, a set of rules) and replay (recorded
// turns, for tests). [Retry] asks a busy provider again. Package agent runs the loop between a model and its tools, and
// decides what may be called, what it costs and what is recorded.
//
// A turn is complete: a provider that cannot read a response to its end returns an error, never a part of a turn. The
// error that a provider sent is a [Refusal] in the chain of the error.
package llm

import (
	"context"
	"encoding/json"

	"hako/quota"
)

// A Model produces the next turn of a dialog. The error is a [*fault.Error]; one that a provider sent has a [*Refusal]
// in its chain.
//
// Next does not change the dialog and keeps nothing of it.
type Model interface {
	Next(ctx context.Context, d *Dialog) (*Turn, error)
}

// A Dialog is the input of a model. It only grows at the end of Items, so that each request begins with the one before
// and the provider's cache is used.
type Dialog struct {
	System string // the system prompt
	Tools  []Tool // in this order, the same in every request
	Items  []Item

	Choice    Choice  // which tools may be called in the next turn
	Format    *Format // the form of the answer; nil means prose
	MaxOutput int64   // tokens; zero means the provider's own limit
	// Temperature is the sampling temperature, 0 to 2. Nil means the provider's default, which is also used by models
	// without the parameter.
	Temperature *float64
	CacheKey    string // the same for dialogs with a common beginning; empty means none

	// OnText receives the text as it arrives, piece by piece. Nil means no streaming. It is never called after Next has
	// returned.
	OnText func(piece string)
}

// A Tool describes a function that a model may call.
type Tool struct {
	Name   string
	Text   string          // the description
	Schema json.RawMessage // of its arguments, an object
}

// A Choice says which tools may be called in a turn. The zero value lets the model choose.
type Choice struct {
	None bool   // no tool may be called
	Name string // this one must be called; empty means none must
}

// A Format is the form that an answer must have.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// A Role is the author of an item of a dialog.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool"   // the result of a tool
	System    Role = "system" // a message of hako in the middle of a dialog
)

// An Item is one entry of a dialog. It must not change once it was sent.
type Item struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`

	Calls []Call `json:"calls,omitempty"` // of the assistant
	// Raw is what the provider wants to see again along with its turn, in its own encoding; Source is the provider.
	// Others ignore it.
	Raw    json.RawMessage `json:"raw,omitempty"`
	Source string          `json:"source,omitempty"`

	CallID string `json:"call_id,omitempty"` // of a result: the call
	Name   string `json:"name,omitempty"`    // of a result: the tool
}

// A Call is a tool call of a model.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it, if it is JSON; never empty
}

// A Turn is an answer of a model. Without calls it is the last one.
type Turn struct {
	Text  string
	Calls []Call
	Usage quota.Usage // tokens; without Calls, which the loop counts
	Model string      // the model that answered, as the provider names it
	// Cut is why the turn is not complete: "length" or "content_filter". Empty means that it is.
	Cut string

	Raw    json.RawMessage // see [Item]
	Source string
}

// Item returns the turn as an entry of a dialog.
func (t *Turn) Item() Item {
	return Item{Role: Assistant, Text: t.Text, Calls: t.Calls, Raw: t.Raw, Source: t.Source}
}
