package ollama

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"hako/llm"
	"hako/llm/wire"
	"hako/quota"
)

// answerLine is the part of a line of a response that is used.
type answerLine struct {
	Model   string
	Message struct {
		Content  string
		Thinking string
		Calls    []struct {
			ID       string
			Function struct {
				Name      string
				Arguments wire.LenientString
			}
		} `json:"tool_calls"`
	}
	Done   bool
	Reason string     `json:"done_reason"`
	Prompt wire.Count `json:"prompt_eval_count"`
	Output wire.Count `json:"eval_count"`
	Error  json.RawMessage
}

// Next implements [llm.Model].
func (m *model) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if m.err != nil {
		return nil, m.err
	}
	answer, err := m.peer.Post(ctx, m.to, "application/x-ndjson", m.request(d))
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return m.read(d, answer)
}

// read collects a turn from lines, up to the one with done set.
func (m *model) read(d *llm.Dialog, answer *wire.ResponseBody) (*llm.Turn, error) {
	lines := wire.NewLines(answer)
	got := &collected{say: d.OnText}
	for {
		data, whole, err := lines.Next()
		if err != nil {
			return nil, answer.WrapError(err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var l answerLine
		if json.Unmarshal(data, &l) != nil {
			return nil, m.unreadable(data, whole)
		}
		if len(l.Error) > 0 && string(l.Error) != "null" {
			return nil, m.peer.Refuse(wire.RefusalIn(data))
		}
		if got.take(&l); len(got.calls) > wire.MaxCalls {
			return nil, m.peer.TooManyCalls()
		}
		if l.Done {
			answer.Drain()
			return m.turn(d, got, &l)
		}
	}
}

// unreadable is the error for a line that is no JSON: the last one may have been cut.
func (m *model) unreadable(data []byte, whole bool) error {
	if !whole && bytes.HasPrefix(data, []byte{'{'}) {
		return m.peer.Truncated()
	}
	return m.peer.Unreadable("answered with something that is not a stream of JSON")
}

// turn returns what was collected as a turn, unless the reason to end is an error.
func (m *model) turn(d *llm.Dialog, got *collected, last *answerLine) (*llm.Turn, error) {
	turn := &llm.Turn{Text: string(got.text), Model: cmp.Or(wire.Name(last.Model), m.name), Usage: got.tokens(d, last)}
	switch last.Reason {
	case "", "stop", "tool_calls": // old servers send none
	case "length", "content_filter":
		turn.Cut = last.Reason // its calls may be cut, too
		return turn, nil
	case "load", "unload":
		return nil, m.peer.Malformed("only " + last.Reason + "ed the model")
	default:
		return nil, m.peer.Refuse(&llm.Refusal{Code: last.Reason, Message: "an unknown reason to end"})
	}
	turn.Calls = got.calls
	wire.Identify(d, turn.Calls)
	// Reasoning before calls is sent again; that before an answer is not needed any more.
	if len(turn.Calls) > 0 && len(got.thoughts) > 0 {
		turn.Raw, turn.Source = wire.AppendString(nil, string(got.thoughts)), source
	}
	return turn, nil
}

// collected is what has arrived of a turn.
type collected struct {
	say            func(string)
	text, thoughts []byte
	calls          []llm.Call
}

func (got *collected) take(l *answerLine) {
	got.thoughts = append(got.thoughts, l.Message.Thinking...)
	got.text = append(got.text, l.Message.Content...)
	if l.Message.Content != "" && got.say != nil {
		got.say(l.Message.Content)
	}
	for _, c := range l.Message.Calls {
		arguments := cmp.Or(string(c.Function.Arguments), "{}")
		got.calls = append(got.calls, llm.Call{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
	}
}

// tokens returns the usage of the turn.
func (got *collected) tokens(d *llm.Dialog, last *answerLine) quota.Usage {
	said := llm.Estimate(string(got.text)) + llm.Estimate(string(got.thoughts))
	for _, c := range got.calls {
		said += 8 + llm.Estimate(c.Arguments)
	}
	return wire.Usage(d, last.Prompt, 0, last.Output, said)
}
