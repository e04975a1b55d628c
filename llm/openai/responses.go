package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"hako/llm"
	"hako/llm/wire"
)

// source marks reasoning that only this package can send again.
const source = "openai"

// Limits of the API.
const (
	maxCacheKey = 64 // bytes
	minOutput   = 16 // tokens
)

type responses struct{ service }

// Responses returns a model that is asked over the Responses API.
func Responses(model string, o Options) llm.Model {
	return &responses{newService("ask model", model, "/responses", o)}
}

// Next implements [llm.Model].
func (m *responses) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	return m.next(ctx, d, m.request, m.read)
}

// request encodes a dialog: first what never changes, then what grows, then what may differ from turn to turn.
func (m *responses) request(d *llm.Dialog) []byte {
	thinks := reasons(m.model)
	b := append(make([]byte, 0, wire.Room(d)), '{')
	b = wire.Text(b, "model", m.model)
	b = wire.Raw(b, "store", "false")
	if thinks {
		b = wire.Raw(b, "include", `["reasoning.encrypted_content"]`)
	}
	if d.CacheKey != "" {
		b = wire.Text(b, "prompt_cache_key", d.CacheKey[:min(len(d.CacheKey), maxCacheKey)])
	}
	if d.System != "" {
		b = wire.Text(b, "instructions", d.System)
	}
	if len(d.Tools) > 0 {
		b = wire.Raw(b, "parallel_tool_calls", "true")
		b = m.tools(b, d.Tools)
	}
	b = wire.Raw(b, "input", "[")
	for i := range d.Items {
		b = m.item(b, &d.Items[i], thinks)
	}
	return append(m.rest(append(b, ']'), d), '}')
}

func (m *responses) tools(b []byte, tools []llm.Tool) []byte {
	b = wire.Raw(b, "tools", "[")
	for i := range tools {
		b = wire.Function(append(wire.Entry(b), `{"type":"function"`...), &tools[i])
		// Left out, it would mean true, and optional arguments an error.
		b = append(wire.Raw(b, "strict", "false"), '}')
	}
	return append(b, ']')
}

// item encodes an entry of the dialog as the one or more entries that the API has for it.
func (m *responses) item(b []byte, it *llm.Item, thinks bool) []byte {
	switch it.Role {
	case llm.Assistant:
		return m.assistant(b, it, thinks)
	case llm.Result:
		b = append(wire.Entry(b), `{"type":"function_call_output"`...)
		b = wire.Text(wire.Text(b, "call_id", it.CallID), "output", it.Text)
	case llm.System: // the API also has the role developer, which other services do not know
		b = wire.Message(b, llm.System, it.Text)
	default:
		b = wire.Message(b, llm.User, it.Text)
	}
	return append(b, '}')
}

// assistant encodes a turn of the model. Its reasoning comes first, but not on its own: the API requires that something
// follows it.
func (m *responses) assistant(b []byte, it *llm.Item, thinks bool) []byte {
	if thinks && it.Source == source && (it.Text != "" || len(it.Calls) > 0) {
		b = reasoning(b, it.Raw)
	}
	if it.Text != "" {
		b = append(wire.Message(b, llm.Assistant, it.Text), '}')
	}
	for i := range it.Calls {
		c := &it.Calls[i]
		b = append(wire.Entry(b), `{"type":"function_call"`...)
		b = wire.Text(wire.Text(b, "call_id", c.ID), "name", c.Name)
		b = append(wire.Text(b, "arguments", c.Arguments), '}')
	}
	return b
}

// reasoning appends the entries of a list.
func reasoning(b, list []byte) []byte {
	if len(list) == 0 || list[0] != '[' || !json.Valid(list) {
		return b
	}
	entries := bytes.TrimSpace(list[1:bytes.LastIndexByte(list, ']')])
	if len(entries) == 0 {
		return b
	}
	return append(wire.Entry(b), entries...)
}

// rest encodes what may differ from turn to turn.
func (m *responses) rest(b []byte, d *llm.Dialog) []byte {
	b = toolChoice(b, d, `{"type":"function"`, "}")
	if !reasons(m.model) {
		b = wire.Temperature(b, d)
	}
	if d.MaxOutput > 0 {
		b = strconv.AppendInt(wire.Member(b, "max_output_tokens"), max(d.MaxOutput, minOutput), 10)
	}
	if d.Format != nil {
		b = wire.Raw(b, "text", `{"format":{"type":"json_schema"`)
		b = append(schema(b, d.Format), "}}"...)
	}
	return wire.Raw(b, "stream", "true")
}
