// Package llm defines language models: a [Dialog] goes in, the next [Turn] comes out of [Model].Next.
//
// The providers are packages of their own: openai, ollama, rules (no network, a set of rules) and replay (recorded
// turns, for tests). [Retry] asks a busy provider again. Package agent runs the loop between a model and its tools, and
// decides what may be called, what it costs and what is recorded.
//
// A turn is whole: a provider that cannot read an answer to its end returns an error, never a part of the turn. What a
// provider said instead of a turn is a [Refusal] in the chain of the error.
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

// A Dialog is everything a model is shown. It only ever grows at the end of Items, so that what was sent before is the
// beginning of what is sent next and providers find it in their caches.
type Dialog struct {
	System string // instructions that stand before everything
	Tools  []Tool // in this order, always the same ones
	Items  []Item

	Choice    Choice  // which tools may be called this time
	Format    *Format // the shape of the answer; nil means prose
	MaxOutput int64   // tokens; zero means the provider's own limit
	// Temperature is how freely the model chooses, 0 to 2. Nil leaves it to the provider, and so do models that have
	// none.
	Temperature *float64
	CacheKey    string // tells dialogs with a common beginning; empty means none

	// OnText is told the text as it arrives, piece by piece. Nil means nobody is waiting. It is never called after Next
	// has returned.
	OnText func(piece string)
}

// A Tool describes a function that a model may call.
type Tool struct {
	Name   string
	Text   string          // what the model reads about it
	Schema json.RawMessage // of its arguments, an object
}

// Choice says which tools may be called in a turn. The zero value lets the model choose.
type Choice struct {
	None bool   // no tool may be called
	Name string // this one must be called; empty means none must
}

// A Format is the shape an answer must have.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// A Role says who an item of a dialog comes from.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool"   // what a tool answered
	System    Role = "system" // what hako tells the model in the middle of a dialog
)

// An Item is one entry of a dialog. It must not be changed once it was sent.
type Item struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`

	Calls []Call `json:"calls,omitempty"` // of the assistant
	// Raw is what the provider wants to see again along with its turn, in its own spelling; Source says whose spelling
	// that is. Others ignore it.
	Raw    json.RawMessage `json:"raw,omitempty"`
	Source string          `json:"source,omitempty"`

	CallID string `json:"call_id,omitempty"` // of a result: which call it answers
	Name   string `json:"name,omitempty"`    // of a result: the tool
}

// A Call is a model's wish to have a tool run.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it, if it is JSON; never empty
}

// A Turn is a model's answer. Without calls it is the last one.
type Turn struct {
	Text  string
	Calls []Call
	Usage quota.Usage // tokens; without Calls, which the loop counts
	Model string      // which one answered, as the provider names it
	// Cut says why the model had to stop before it was done: "length" or "content_filter". Empty means that it was
	// done.
	Cut string

	Raw    json.RawMessage // see [Item]
	Source string
}

// Item returns the turn as an entry of a dialog.
func (t *Turn) Item() Item {
	return Item{Role: Assistant, Text: t.Text, Calls: t.Calls, Raw: t.Raw, Source: t.Source}
}
