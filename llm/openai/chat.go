package openai

import (
	"context"
	"strconv"

	"hako/llm"
	"hako/llm/wire"
)

type chat struct{ service }

// Chat returns a model that is asked over the Chat Completions interface, which is the one that most services and local
// servers have.
func Chat(model string, o Options) llm.Model {
	return &chat{newService("ask model", model, "/chat/completions", o)}
}

// Next implements [llm.Model].
func (m *chat) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	answer, err := m.ask(ctx, m.request(d))
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return m.read(d, answer)
}

// request spells a dialog: first what never changes, then what grows, then what may differ from turn to turn.
func (m *chat) request(d *llm.Dialog) []byte {
	b := append(make([]byte, 0, wire.Room(d)), '{')
	b = wire.Text(b, "model", m.model)
	if d.CacheKey != "" && m.ours { // others refuse what they do not know
		b = wire.Text(b, "prompt_cache_key", d.CacheKey[:min(len(d.CacheKey), maxCacheKey)])
	}
	if len(d.Tools) > 0 {
		b = m.tools(b, d.Tools)
	}
	b = wire.Raw(b, "messages", "[")
	if d.System != "" {
		b = append(wire.Text(append(b, `{"role":"system"`...), "content", d.System), '}')
	}
	for i := range d.Items {
		b = append(m.message(wire.Entry(b), &d.Items[i]), '}')
	}
	return append(m.rest(append(b, ']'), d), '}')
}

func (m *chat) tools(b []byte, tools []llm.Tool) []byte {
	b = wire.Raw(b, "tools", "[")
	for i := range tools {
		t := &tools[i]
		b = append(wire.Entry(b), `{"type":"function","function":{`...)
		b = wire.Text(b, "name", t.Name)
		b = wire.Text(b, "description", t.Text)
		b = wire.AppendRaw(wire.Member(b, "parameters"), t.Schema, `{"type":"object"}`)
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// message spells an entry of the dialog, but for its closing brace.
func (m *chat) message(b []byte, it *llm.Item) []byte {
	switch it.Role {
	case llm.Assistant:
		return m.spoken(append(b, `{"role":"assistant"`...), it)
	case llm.Result:
		b = append(b, `{"role":"tool"`...)
		b = wire.Text(b, "tool_call_id", it.CallID)
		return wire.Text(b, "content", it.Text)
	case llm.System:
		return wire.Text(append(b, `{"role":"system"`...), "content", it.Text)
	}
	return wire.Text(append(b, `{"role":"user"`...), "content", it.Text)
}

// spoken spells what the model said. Servers parse the arguments of old calls, so the ones that are no object become an
// empty one; the model learns of its mistake from the result.
func (m *chat) spoken(b []byte, it *llm.Item) []byte {
	if len(it.Calls) == 0 {
		return wire.Text(b, "content", it.Text)
	}
	if it.Text == "" {
		b = wire.Raw(b, "content", "null")
	} else {
		b = wire.Text(b, "content", it.Text)
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

// rest spells what may differ from turn to turn.
func (m *chat) rest(b []byte, d *llm.Dialog) []byte {
	if len(d.Tools) > 0 {
		switch {
		case d.Choice.None:
			b = wire.Raw(b, "tool_choice", `"none"`)
		case d.Choice.Name != "":
			b = wire.Raw(b, "tool_choice", `{"type":"function","function":{`)
			b = append(wire.Text(b, "name", d.Choice.Name), "}}"...)
		default:
			b = wire.Raw(b, "tool_choice", `"auto"`)
		}
	}
	if d.Temperature != nil && !reasons(m.model) {
		b = strconv.AppendFloat(wire.Member(b, "temperature"), *d.Temperature, 'g', -1, 64)
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
