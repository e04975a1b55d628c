package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"hako/internal/llm"
	"hako/internal/llm/wire"
)

// output collects what a model says and wants.
type output struct {
	say   func(string)
	parts []*part
	spoke *part // the message that was spoken last
}

// A part is one item of the output.
type part struct {
	index     int // of the item, -1 when not told
	item      item
	arguments []byte // piece by piece
	whole     string // the arguments, once they were told as a whole
	texts     []passage
}

// A passage is one stretch of text of a message.
type passage struct {
	index int
	text  []byte
}

// take takes in an event.
func (o *output) take(ev *event) {
	switch ev.Type {
	case "response.output_item.added":
		o.begin(ev)
	case "response.output_item.done":
		if ev.Item != nil {
			o.settle(o.part(ev), ev.Item)
		}
	case "response.output_text.delta", "response.refusal.delta":
		o.speak(o.part(ev), ev.ContentIndex, ev.Delta)
	case "response.output_text.done":
		o.correct(o.part(ev), ev.ContentIndex, ev.Text)
	case "response.refusal.done":
		o.correct(o.part(ev), ev.ContentIndex, ev.Refusal)
	case "response.function_call_arguments.delta":
		p := o.part(ev)
		p.arguments = append(p.arguments, ev.Delta...)
	case "response.function_call_arguments.done":
		p := o.part(ev)
		p.whole = cmp.Or(string(ev.Arguments), p.whole)
	}
}

// part finds the item that an event is about. The index comes first: there are
// services whose ids differ from event to event.
func (o *output) part(ev *event) *part {
	index, id := -1, ev.ItemID
	if ev.OutputIndex != nil {
		index = *ev.OutputIndex
	}
	if ev.Item != nil {
		id = ev.Item.ID
	}
	for _, p := range o.parts {
		if index >= 0 && p.index == index || index < 0 && id != "" && p.item.ID == id {
			return p
		}
	}
	if index < 0 && id == "" && ev.Item == nil && len(o.parts) > 0 {
		return o.parts[len(o.parts)-1]
	}
	p := &part{index: index, item: item{ID: id}}
	o.parts = append(o.parts, p)
	return p
}

// begin takes in the first that is told of an item.
func (o *output) begin(ev *event) {
	if ev.Item != nil {
		o.part(ev).item = *ev.Item
	}
}

// settle takes in an item as a whole.
func (o *output) settle(p *part, whole *item) {
	p.whole = cmp.Or(string(whole.Arguments), p.whole)
	name, callID := cmp.Or(whole.Name, p.item.Name), cmp.Or(whole.CallID, p.item.CallID)
	p.item = *whole
	p.item.Name, p.item.CallID = name, callID
	for i, c := range whole.Content {
		o.correct(p, i, cmp.Or(c.Text, c.Refusal))
	}
}

// speak passes on a piece of text at once. Separate messages are set apart.
func (o *output) speak(p *part, index int, piece string) {
	if piece == "" {
		return
	}
	if o.spoke != nil && o.spoke != p {
		o.tell(between)
	}
	o.spoke = p
	o.tell(piece)
	t := p.passage(index)
	t.text = append(t.text, piece...)
}

const between = "\n\n"

func (o *output) tell(piece string) {
	if o.say != nil {
		o.say(piece)
	}
}

// correct replaces a passage with the whole of it, and passes on what had not
// arrived piece by piece.
func (o *output) correct(p *part, index int, whole string) {
	if whole == "" {
		return
	}
	if missing, ok := strings.CutPrefix(whole, string(p.passage(index).text)); ok {
		o.speak(p, index, missing)
	}
	p.passage(index).text = []byte(whole)
}

func (p *part) passage(index int) *passage {
	for i := range p.texts {
		if p.texts[i].index == index {
			return &p.texts[i]
		}
	}
	p.texts = append(p.texts, passage{index: index})
	return &p.texts[len(p.texts)-1]
}

// finish fills in, from the output as a whole, what no event told.
func (o *output) finish(all []item) {
	seen := len(o.parts) > 0
	for i := range all {
		if !seen {
			o.settle(o.part(&event{OutputIndex: &i, Item: &all[i]}), &all[i])
		}
		for _, p := range o.parts {
			if p.whole == "" && p.item.CallID != "" && p.item.CallID == all[i].CallID {
				p.whole = string(all[i].Arguments)
			}
		}
	}
}

// text returns everything that was said.
func (o *output) text() string {
	var all []byte
	for _, p := range o.parts {
		if len(all) > 0 && len(p.texts) > 0 {
			all = append(all, between...)
		}
		for _, t := range p.texts {
			all = append(all, t.text...)
		}
	}
	return string(all)
}

// calls returns the calls. Arguments that were told as a whole are right, should
// the pieces differ.
func (o *output) calls() (calls []llm.Call) {
	for _, p := range o.parts {
		if p.item.Type != "function_call" {
			continue
		}
		arguments := cmp.Or(p.whole, string(p.arguments), string(p.item.Arguments), "{}")
		calls = append(calls, llm.Call{ID: p.item.CallID, Name: p.item.Name, Arguments: arguments})
	}
	return calls
}

// reasoning returns the reasoning in the form in which it is accepted again: a
// list, nil if there is none. Without its sealed content the service would look
// for it among what it stored, which is nothing.
func (o *output) reasoning() json.RawMessage {
	var list []byte
	for _, p := range o.parts {
		if p.item.Type != "reasoning" || p.item.Encrypted == "" {
			continue
		}
		if list == nil {
			list = []byte{'['}
		}
		list = append(wire.Entry(list), `{"type":"reasoning"`...)
		list = wire.Text(list, "id", p.item.ID)
		list = wire.AppendRaw(wire.Member(list, "summary"), p.item.Summary, "[]")
		list = append(wire.Text(list, "encrypted_content", p.item.Encrypted), '}')
	}
	if list == nil {
		return nil
	}
	return append(list, ']')
}
