package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"hako/llm"
	"hako/llm/wire"
	"hako/quota"
)

// event is the part of an event of the Responses API that is used.
type event struct {
	Type         string
	OutputIndex  *int   `json:"output_index"`
	ItemID       string `json:"item_id"`
	ContentIndex int    `json:"content_index"`
	Delta        string
	Text         string
	Refusal      string
	Arguments    wire.LenientString
	Item         *item
	Response     *response
}

// item is an entry of the output.
type item struct {
	Type      string
	Status    string
	ID        string
	CallID    string `json:"call_id"`
	Name      string
	Arguments wire.LenientString
	Content   []struct{ Type, Text, Refusal string }

	Summary   json.RawMessage
	Encrypted string `json:"encrypted_content"`
}

// response is the whole response in the last event.
type response struct {
	ID         string
	Status     string
	Model      string
	Output     []item
	Error      json.RawMessage
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Usage      *responseUsage
}

// responseUsage counts tokens.
type responseUsage struct {
	Input   wire.Count `json:"input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	Details struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

// read collects a turn from a stream of events.
func (m *responses) read(d *llm.Dialog, answer *wire.ResponseBody) (*llm.Turn, error) {
	events := wire.NewEvents(answer)
	out := &output{say: d.OnText}
	for {
		e, err := events.Next()
		if err != nil {
			return nil, answer.WrapError(err)
		}
		var ev event
		if decode(e.Data, &ev) != nil {
			return nil, m.unreadable(e)
		}
		ev.Type = cmp.Or(ev.Type, string(e.Name))
		switch ev.Type {
		case "error":
			return nil, m.peer.Refuse(wire.RefusalIn(e.Data))
		case "response.failed", "response.cancelled":
			return nil, m.peer.Refuse(failure(e.Data))
		case "response.completed", "response.incomplete":
			answer.Drain()
			return m.turn(d, out, &ev, e.Data)
		}
		if out.take(&ev); out.much {
			return nil, m.tooMuch(out)
		}
	}
}

// unreadable returns the error for an event that is no JSON: the last one may have been cut, and [DONE] says nothing
// about how the turn ended.
func (s *service) unreadable(e wire.Event) error {
	if e.Last || string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return s.peer.Truncated()
	}
	return s.peer.Unreadable("sent an event that cannot be read")
}

// decode reads JSON. A member of another type than expected counts as missing: there are more kinds of events than we
// know.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
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
	return wire.RefusalIn(data)
}

// turn returns what was collected as a turn. The last event decides how it ended; the response in it can only make that
// worse.
func (m *responses) turn(d *llm.Dialog, out *output, ev *event, data []byte) (*llm.Turn, error) {
	whole := cmp.Or(ev.Response, new(response))
	short := ev.Type == "response.incomplete"
	switch {
	case whole.failed():
		return nil, m.peer.Refuse(failure(data))
	case !short && !whole.ended():
		return nil, m.peer.Truncated()
	}
	if out.finish(whole.Output); out.much {
		return nil, m.tooMuch(out)
	}
	turn := &llm.Turn{Text: out.text(), Usage: whole.usage(d, out), Model: cmp.Or(wire.Name(whole.Model), m.model)}
	if short || out.cut || whole.Incomplete != nil || whole.Status == "incomplete" {
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

// tooMuch returns the error for a response of more parts than are accepted.
func (m *responses) tooMuch(out *output) error {
	if out.called > wire.MaxCalls {
		return m.peer.TooManyCalls()
	}
	return m.peer.Malformed(fmt.Sprintf("answered in more than %d parts", maxParts))
}

// failed reports whether there is no turn, whatever the event is called.
func (r *response) failed() bool {
	return r.Status == "failed" || r.Status == "cancelled" || len(r.Error) > 0 && string(r.Error) != "null"
}

// ended reports whether the response is complete by its own account. Some services leave the status out, but not
// everything.
func (r *response) ended() bool {
	switch r.Status {
	case "completed", "incomplete":
		return true
	case "":
		return r.ID != "" || r.Model != "" || r.Output != nil || r.Usage != nil || r.Incomplete != nil
	}
	return false
}

func cutBy(details *struct{ Reason string }) string {
	if details != nil && details.Reason == "content_filter" {
		return "content_filter"
	}
	return "length"
}

// usage returns the usage of the turn.
func (r *response) usage(d *llm.Dialog, out *output) quota.Usage {
	counts := cmp.Or(r.Usage, new(responseUsage))
	return wire.Usage(d, counts.Input, counts.Details.Cached, counts.Output, out.weight())
}
