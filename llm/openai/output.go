package openai

import (
	"cmp"
	"encoding/json"

	"hako/llm"
	"hako/llm/wire"
)

// maxParts is how many items and passages a response may have. They are searched linearly, so that the number must be
// bounded.
const maxParts = 1024

// output collects the text and the calls of a turn.
type output struct {
	say    func(string)
	parts  []*part
	spoke  *part // the message that was streamed last
	count  int   // of parts and passages
	called int   // of calls
	much   bool  // there are more than are accepted
	cut    bool  // an item is not complete
}

// A part is one item of the output.
type part struct {
	index     int // of the item, -1 if not sent
	item      item
	arguments []byte // piece by piece
	whole     string // the arguments, once they were sent as a whole
	texts     []passage
}

// A passage is one text of a message.
type passage struct {
	index int
	text  []byte
}

// take adds an event.
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

// part finds the item that an event is about. The index comes first: there are services whose ids differ from event to
// event.
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
	return o.add(index, id)
}

// add adds a part. One too many is not kept.
func (o *output) add(index int, id string) *part {
	p := &part{index: index, item: item{ID: id}}
	if o.grow() {
		o.parts = append(o.parts, p)
	}
	return p
}

// grow makes room for a part or passage, if there still is some.
func (o *output) grow() bool {
	o.count++
	o.much = o.much || o.count > maxParts
	return !o.much
}

// begin adds the first event of an item.
func (o *output) begin(ev *event) {
	if ev.Item != nil {
		o.become(o.part(ev), ev.Item)
	}
}

// become sets what is known of an item.
func (o *output) become(p *part, it *item) {
	if it.Type == typeCall && p.item.Type != typeCall {
		o.called++
		o.much = o.much || o.called > wire.MaxCalls
	}
	o.cut = o.cut || it.Status == "incomplete"
	p.item = *it
}

// settle adds a complete item. Members that it lacks stay as they were.
func (o *output) settle(p *part, whole *item) {
	p.whole = cmp.Or(string(whole.Arguments), p.whole)
	before := p.item
	o.become(p, whole)
	p.item.Type = cmp.Or(whole.Type, before.Type)
	p.item.Name, p.item.CallID = cmp.Or(whole.Name, before.Name), cmp.Or(whole.CallID, before.CallID)
	if whole.Encrypted == "" {
		p.item.Encrypted, p.item.Summary = before.Encrypted, before.Summary
	}
	if whole.Type == typeThought {
		return // its content is not shown
	}
	for i := 0; i < len(whole.Content) && !o.much; i++ {
		o.correct(p, i, cmp.Or(whole.Content[i].Text, whole.Content[i].Refusal))
	}
}

// speak streams a piece of text. Messages are separated by an empty line.
func (o *output) speak(p *part, index int, piece string) {
	if piece == "" {
		return
	}
	if o.spoke != nil && o.spoke != p {
		o.tell(between)
	}
	o.spoke = p
	o.tell(piece)
	t := o.passage(p, index)
	t.text = append(t.text, piece...)
}

const between = "\n\n"

func (o *output) tell(piece string) {
	if o.say != nil {
		o.say(piece)
	}
}

// correct replaces a passage by its complete text, and streams what had not arrived piece by piece. A shorter text does
// not remove what was streamed.
func (o *output) correct(p *part, index int, whole string) {
	if whole == "" {
		return
	}
	said := o.passage(p, index).text
	switch {
	case len(whole) > len(said) && whole[:len(said)] == string(said):
		o.speak(p, index, whole[len(said):])
	case len(whole) > len(said) || string(said[:len(whole)]) != whole:
		o.passage(p, index).text = []byte(whole)
	}
}

// passage finds a passage of a message, or adds it.
func (o *output) passage(p *part, index int) *passage {
	for i := range p.texts {
		if p.texts[i].index == index {
			return &p.texts[i]
		}
	}
	if !o.grow() {
		return new(passage)
	}
	p.texts = append(p.texts, passage{index: index})
	return &p.texts[len(p.texts)-1]
}

// text returns the whole text.
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

// wants returns the arguments of a call. Those that were sent as a whole take precedence over the pieces.
func (p *part) wants() string {
	switch {
	case p.whole != "":
		return p.whole
	case len(p.arguments) > 0:
		return string(p.arguments)
	}
	return string(p.item.Arguments)
}

// weight estimates the tokens of everything that arrived.
func (o *output) weight() (n int64) {
	for _, p := range o.parts {
		n += llm.Estimate(p.wants()) + int64(len(p.item.Encrypted))/4
		if p.item.Type == typeCall {
			n += 8
		}
		for _, t := range p.texts {
			n += llm.Estimate(string(t.text))
		}
	}
	return n
}

// calls returns the calls.
func (o *output) calls() (calls []llm.Call) {
	for _, p := range o.parts {
		if p.item.Type != typeCall {
			continue
		}
		calls = append(calls, llm.Call{ID: p.item.CallID, Name: p.item.Name, Arguments: cmp.Or(p.wants(), "{}")})
	}
	return calls
}

// reasoning returns the reasoning in the form in which it is sent again: a list, nil if there is none. Without its
// encrypted content the service would look for it in its storage, which is not used.
func (o *output) reasoning() json.RawMessage {
	var list []byte
	for _, p := range o.parts {
		if p.item.Type != typeThought || p.item.Encrypted == "" {
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
