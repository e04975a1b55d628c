package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"hako/llm"
	"hako/llm/wire"
	"hako/quota"
)

// usageTimeout is how long to wait for the usage once the turn itself is complete.
const usageTimeout = 5 * time.Second

// chunk is the part of an event of the Chat Completions API that is used.
type chunk struct {
	Model   string
	Choices []struct {
		Index  int
		Delta  delta
		Finish string `json:"finish_reason"`
	}
	Usage *usage
	Error json.RawMessage
}

// delta is a piece of a turn.
type delta struct {
	Content passages
	Refusal string
	Calls   []callDelta `json:"tool_calls"`
}

// callDelta is a piece of a call.
type callDelta struct {
	Index    *int
	ID       string
	Function struct {
		Name      string
		Arguments wire.LenientString
	}
}

// passages is a text, or a list of texts with other things among them.
type passages string

// UnmarshalJSON implements json.Unmarshaler.
func (p *passages) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return decode(data, (*string)(p))
	}
	var list []struct{ Type, Text string }
	if err := decode(data, &list); err != nil {
		return err
	}
	var all strings.Builder
	for _, one := range list {
		if one.Type == "text" {
			all.WriteString(one.Text)
		}
	}
	*p = passages(all.String())
	return nil
}

// usage counts tokens.
type usage struct {
	Prompt     wire.Count `json:"prompt_tokens"`
	Completion wire.Count `json:"completion_tokens"`
	Details    struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// read collects a turn from a stream of chunks. It is complete once there is a finish reason; the usage may follow.
func (m *chat) read(d *llm.Dialog, answer *wire.ResponseBody) (*llm.Turn, error) {
	events := wire.NewEvents(answer)
	got := &collected{say: d.OnText}
	for {
		e, err := events.Next()
		if err == io.EOF || err != nil && got.finish != "" && answer.Alive() {
			return m.turn(d, got)
		}
		if err != nil {
			return nil, answer.WrapError(err)
		}
		if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
			answer.Drain()
			return m.turn(d, got)
		}
		if err := m.take(got, e); err != nil {
			return nil, err
		}
		if got.finish != "" {
			answer.LimitIdle(usageTimeout)
		}
	}
}

// take adds a chunk.
func (m *chat) take(got *collected, e wire.Event) error {
	var c chunk
	if decode(e.Data, &c) != nil {
		return m.unreadable(e)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || string(e.Name) == "error" {
		return m.peer.Refuse(wire.RefusalIn(e.Data))
	}
	if got.take(&c); got.many {
		return m.peer.TooManyCalls()
	}
	return nil
}

// turn returns what was collected as a turn, if it is complete.
func (m *chat) turn(d *llm.Dialog, got *collected) (*llm.Turn, error) {
	turn := &llm.Turn{Text: string(got.text), Model: cmp.Or(wire.Name(got.model), m.model), Usage: got.tokens(d)}
	switch finishClass(got.finish) {
	case open:
		return nil, m.peer.Truncated()
	case failed:
		return nil, m.peer.Refuse(failedFinish(got.finish))
	case cut:
		turn.Cut = got.finish // its calls may be cut, too
		return turn, nil
	case called:
		if len(got.calls) == 0 && turn.Text == "" {
			return nil, m.peer.Malformed("reports a tool call without naming the tool")
		}
	}
	for _, c := range got.calls {
		turn.Calls = append(turn.Calls, llm.Call{ID: c.id, Name: c.name, Arguments: cmp.Or(string(c.arguments), "{}")})
	}
	wire.Identify(d, turn.Calls)
	return turn, nil
}

// The classes of finish reasons, in the order in which one overrules another: a turn that was cut is not made whole by
// a stop behind it.
const (
	open = iota
	stopped
	called
	cut
	failed // unknown reasons too
)

func finishClass(finish string) int {
	switch finish {
	case "":
		return open
	case "stop":
		return stopped
	case "tool_calls", "function_call":
		return called
	case "length", "content_filter":
		return cut
	}
	return failed
}

// failedFinish makes a refusal of the finish reason of a turn that failed.
func failedFinish(finish string) *llm.Refusal {
	if finish == "error" {
		return wire.RefusalIn([]byte("{}"))
	}
	return wire.RefusalIn(append(wire.Text([]byte(`{"error":{`), "code", finish), "}}"...))
}

// collected is what has arrived of a turn.
type collected struct {
	say    func(string)
	text   []byte
	calls  []*call
	many   bool // there are more calls than are accepted
	model  string
	finish string // the finish reason; empty means none yet
	usage  *usage
}

// A call is one that a model wants, as far as it has arrived.
type call struct {
	index     int // -1 if not sent
	id, name  string
	arguments []byte
	shape     shape // of the arguments
}

func (got *collected) take(c *chunk) {
	got.model = cmp.Or(got.model, c.Model)
	if c.Usage != nil {
		got.usage = c.Usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		got.speak(string(choice.Delta.Content))
		got.speak(choice.Delta.Refusal)
		for at := range choice.Delta.Calls {
			got.extend(at, len(choice.Delta.Calls), &choice.Delta.Calls[at])
		}
		if finishClass(choice.Finish) > finishClass(got.finish) {
			got.finish = choice.Finish
		}
	}
}

func (got *collected) speak(piece string) {
	if piece == "" {
		return
	}
	got.text = append(got.text, piece...)
	if got.say != nil {
		got.say(piece)
	}
}

// extend adds a piece to the call that it belongs to. Id and name are said once or with every piece, so they are set
// and not added to.
func (got *collected) extend(at, of int, piece *callDelta) {
	c := got.find(at, of, piece)
	if c == nil && len(got.calls) == wire.MaxCalls {
		got.many = true
		return
	}
	if c == nil {
		c = &call{index: -1}
		if piece.Index != nil {
			c.index = *piece.Index
		}
		got.calls = append(got.calls, c)
	}
	c.id = cmp.Or(c.id, piece.ID)
	c.name = cmp.Or(c.name, piece.Function.Name)
	c.arguments = append(c.arguments, piece.Function.Arguments...)
	c.shape.follow(string(piece.Function.Arguments))
}

// find finds the call that a piece belongs to; nil means a new one. The piece is the one at the given place of so many
// in its chunk.
func (got *collected) find(at, of int, piece *callDelta) *call {
	switch {
	case len(got.calls) == 0:
		return nil
	case piece.Index != nil:
		return got.numbered(*piece.Index, piece)
	case piece.ID != "":
		return got.named(piece.ID)
	case of == 1:
		at = len(got.calls) - 1
	case at >= len(got.calls):
		return nil
	}
	c := got.calls[at]
	if piece.Function.Name != "" && c.name != "" && c.shape.closed() {
		return nil // that one is complete, and this one has a name: it begins
	}
	return c
}

// numbered finds a call by its index. Some services give all calls the same index; then the id distinguishes them.
func (got *collected) numbered(index int, piece *callDelta) *call {
	for _, c := range slices.Backward(got.calls) {
		if c.index != index {
			continue
		}
		if piece.ID != "" && c.id != "" && piece.ID != c.id && piece.Function.Name != "" {
			return got.named(piece.ID)
		}
		return c
	}
	return nil
}

func (got *collected) named(id string) *call {
	if i := slices.IndexFunc(got.calls, func(c *call) bool { return c.id == id }); i >= 0 {
		return got.calls[i]
	}
	return nil
}

// shape tracks the nesting of JSON that arrives in pieces. It looks at every byte once: checking all of it for every
// piece would take quadratic time.
type shape struct {
	depth           int
	begun           bool
	quoted, escaped bool
}

func (s *shape) follow(piece string) {
	for i := range len(piece) {
		switch c := piece[i]; {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = s.quoted
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.depth++
			s.begun = true
		case c == '}' || c == ']':
			s.depth--
		}
	}
}

// closed reports whether every bracket was closed, and there was one.
func (s *shape) closed() bool { return s.begun && s.depth <= 0 && !s.quoted }

// tokens returns the usage of the turn.
func (got *collected) tokens(d *llm.Dialog) quota.Usage {
	said := llm.Estimate(string(got.text))
	for _, c := range got.calls {
		said += 8 + llm.Estimate(string(c.arguments))
	}
	counts := cmp.Or(got.usage, new(usage))
	return wire.Usage(d, counts.Prompt, counts.Details.Cached, counts.Completion, said)
}
