package openai

import (
	"context"
	"strconv"

	"hako/llm"
	"hako/llm/wire"
)

type chat struct{ service }

// Chat returns a model that is asked over the Chat Completions API, the one that most services and local servers have.
func Chat(model string, o Options) llm.Model {
	return &chat{newService("ask model", model, "/chat/completions", o)}
}

// Next implements [llm.Model].
func (m *chat) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	return m.next(ctx, d, m.request, m.read)
}

// request encodes a dialog: first what never changes, then what grows, then what may differ from turn to turn.
func (m *chat) request(d *llm.Dialog) []byte {
	b := append(make([]byte, 0, wire.Room(d)), '{')
	b = wire.Text(b, "model", m.model)
	if d.CacheKey != "" && m.ours { // others refuse members that they do not know
		b = wire.Text(b, "prompt_cache_key", d.CacheKey[:min(len(d.CacheKey), maxCacheKey)])
	}
	if len(d.Tools) > 0 {
		b = wire.Tools(b, d.Tools, func(string) bool { return true })
	}
	b = wire.Messages(b, d, func(b []byte, i int) []byte { return m.message(b, &d.Items[i]) })
	return append(m.rest(b, d), '}')
}

// message encodes an entry of the dialog, but for its closing brace.
func (m *chat) message(b []byte, it *llm.Item) []byte {
	switch it.Role {
	case llm.Assistant:
		return m.assistant(b, it)
	case llm.Result:
		b = wire.Text(append(wire.Entry(b), `{"role":"tool"`...), "tool_call_id", it.CallID)
		return wire.Text(b, "content", it.Text)
	case llm.System:
		return wire.Message(b, llm.System, it.Text)
	}
	return wire.Message(b, llm.User, it.Text)
}

// assistant encodes a turn of the model. Servers parse the arguments of old calls, so the ones that are no object
// become an empty one; the model learns of its mistake from the result.
func (m *chat) assistant(b []byte, it *llm.Item) []byte {
	if len(it.Calls) == 0 {
		return wire.Message(b, llm.Assistant, it.Text)
	}
	if it.Text == "" {
		b = append(wire.Entry(b), `{"role":"assistant","content":null`...)
	} else {
		b = wire.Message(b, llm.Assistant, it.Text)
	}
	b = wire.Raw(b, "tool_calls", "[")
	for i := range it.Calls {
		c := &it.Calls[i]
		b = wire.Text(append(wire.Entry(b), '{'), "id", c.ID)
		b = wire.Raw(b, "type", `"function"`)
		b = wire.Text(wire.Raw(b, "function", "{"), "name", c.Name)
		if wire.IsObject(b, c.Arguments) {
			b = wire.Text(b, "arguments", c.Arguments)
		} else {
			b = wire.Raw(b, "arguments", `"{}"`)
		}
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// rest encodes what may differ from turn to turn.
func (m *chat) rest(b []byte, d *llm.Dialog) []byte {
	b = toolChoice(b, d, `{"type":"function","function":{`, "}}")
	if !reasons(m.model) {
		b = wire.Temperature(b, d)
	}
	if d.MaxOutput > 0 {
		b = strconv.AppendInt(wire.Member(b, "max_completion_tokens"), d.MaxOutput, 10)
	}
	if d.Format != nil {
		b = wire.Raw(b, "response_format", `{"type":"json_schema","json_schema":{`)
		b = append(schema(b, d.Format), "}}"...)
	}
	b = wire.Raw(b, "stream", "true")
	return wire.Raw(b, "stream_options", `{"include_usage":true}`)
}
