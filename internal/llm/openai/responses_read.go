package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"hako/internal/llm"
	"hako/internal/llm/wire"
	"hako/internal/quota"
)

// event is what we read of an event of the Responses interface.
type event struct {
	Type         string
	OutputIndex  *int   `json:"output_index"`
	ItemID       string `json:"item_id"`
	ContentIndex int    `json:"content_index"`
	Delta        string
	Text         string
	Refusal      string
	Arguments    wire.Loose
	Item         *item
	Response     *response
}

// item is an entry of the output.
type item struct {
	Type      string
	ID        string
	CallID    string `json:"call_id"`
	Name      string
	Arguments wire.Loose
	Content   []struct{ Type, Text, Refusal string }

	Summary   json.RawMessage
	Encrypted string `json:"encrypted_content"`
}

// response is what the last event tells about the whole.
type response struct {
	Status     string
	Model      string
	Output     []item
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Usage      *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details *struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	}
}

// read collects a turn from a stream of events.
func (m *responses) read(d *llm.Dialog, answer *wire.Answer) (*llm.Turn, error) {
	events := wire.NewEvents(answer)
	out := &output{say: d.OnText}
	for {
		e, err := events.Next()
		if err != nil {
			return nil, answer.Explain(err)
		}
		var ev event
		if decode(e.Data, &ev) != nil {
			return nil, m.unread(e)
		}
		ev.Type = cmp.Or(ev.Type, string(e.Name))
		switch ev.Type {
		case "error":
			return nil, m.peer.Refuse(wire.Inside(e.Data))
		case "response.failed", "response.cancelled":
			return nil, m.peer.Refuse(failure(e.Data))
		case "response.completed", "response.incomplete":
			answer.Done()
			return m.turn(d, out, ev.Response, e.Data)
		}
		out.take(&ev)
	}
}

// unread words an event that is no JSON: the last one may have been cut, and
// [DONE] says nothing about how it ended.
func (s *service) unread(e wire.Event) error {
	if e.Last || string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return s.peer.Broken()
	}
	return s.peer.Unread("sent an event that cannot be read")
}

// decode reads JSON. A member of another type than expected counts as missing:
// there are more kinds of events than we know.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

// failure finds the error of an event that holds a whole response.
func failure(data []byte) *llm.Refusal {
	var ev struct{ Response json.RawMessage }
	if decode(data, &ev); len(ev.Response) > 0 {
		data = ev.Response
	}
	return wire.Inside(data)
}

// turn puts together what was collected, now that it is known to be all.
func (m *responses) turn(d *llm.Dialog, out *output, whole *response, data []byte) (*llm.Turn, error) {
	if whole == nil {
		whole = new(response)
	}
	if whole.Status == "failed" || whole.Status == "cancelled" {
		return nil, m.peer.Refuse(failure(data))
	}
	out.finish(whole.Output)
	turn := &llm.Turn{Text: out.text(), Usage: whole.usage(), Model: cmp.Or(whole.Model, m.model)}
	if whole.Incomplete != nil || whole.Status == "incomplete" {
		// Calls may be cut, and reasoning without what followed it is refused.
		turn.Cut = cutBy(whole.Incomplete)
		return turn, nil
	}
	turn.Calls = out.calls()
	wire.Identify(d, turn.Calls)
	if turn.Raw = out.reasoning(); turn.Raw != nil {
		turn.Source = source
	}
	return turn, nil
}

func cutBy(details *struct{ Reason string }) string {
	if details != nil && details.Reason == "content_filter" {
		return "content_filter"
	}
	return "length"
}

func (r *response) usage() quota.Usage {
	switch u := r.Usage; {
	case u == nil:
		return quota.Usage{}
	case u.Details == nil:
		return spent(u.Input, 0, u.Output)
	default:
		return spent(u.Input, u.Details.Cached, u.Output)
	}
}

// spent takes what was cached out of the input. No server gives anything back:
// what is less than nothing counts as nothing.
func spent(input, cached, output int64) quota.Usage {
	cached = max(min(cached, input), 0)
	return quota.Usage{Input: max(input-cached, 0), Cached: cached, Output: max(output, 0)}
}
