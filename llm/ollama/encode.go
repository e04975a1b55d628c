package ollama

import (
	"encoding/json"
	"strconv"

	"hako/llm"
	"hako/llm/wire"
)

// source marks reasoning that only this package can send again.
const source = "ollama"

// request encodes a dialog: first what never changes, then what grows, then what may differ from turn to turn. The
// tools are among the last, because leaving them out is the only way to forbid them.
func (m *model) request(d *llm.Dialog) []byte {
	b := append(make([]byte, 0, wire.Room(d)), '{')
	b = wire.Text(b, "model", m.name)
	// Otherwise the beginning of a dialog that is too long is dropped silently.
	b = wire.Raw(b, "truncate", "false")
	b = wire.Messages(m.settings(b), d, func(b []byte, i int) []byte { return m.message(b, d, i) })
	return append(m.rest(b, d), '}')
}

// settings encodes the options of the model.
func (m *model) settings(b []byte) []byte {
	switch m.o.Think {
	case "":
	case "true", "false":
		b = wire.Raw(b, "think", m.o.Think)
	default:
		b = wire.Text(b, "think", m.o.Think)
	}
	if m.o.KeepAlive == "" {
		return b
	}
	// A text needs a unit; a number is seconds.
	if n, err := strconv.Atoi(m.o.KeepAlive); err == nil {
		return strconv.AppendInt(wire.Member(b, "keep_alive"), int64(n), 10)
	}
	return wire.Text(b, "keep_alive", m.o.KeepAlive)
}

// message encodes an entry of the dialog, but for its closing brace.
func (m *model) message(b []byte, d *llm.Dialog, i int) []byte {
	it := &d.Items[i]
	switch it.Role {
	case llm.Assistant:
		return m.assistant(wire.Message(b, llm.Assistant, it.Text), it)
	case llm.Result:
		b = wire.Text(wire.Message(b, llm.Result, it.Text), "tool_name", toolName(d.Items[:i], it))
		return wire.Text(b, "tool_call_id", it.CallID)
	case llm.System:
		return wire.Message(b, llm.System, it.Text)
	}
	return wire.Message(b, llm.User, it.Text)
}

// toolName returns the name of the tool that a result comes from.
func toolName(before []llm.Item, result *llm.Item) string {
	if result.Name != "" {
		return result.Name
	}
	for i := range before {
		for _, c := range before[i].Calls {
			if c.ID == result.CallID {
				return c.Name
			}
		}
	}
	return ""
}

// assistant encodes the rest of a turn of the model. Arguments are an object here; what a model wrote instead of one
// cannot be sent again.
func (m *model) assistant(b []byte, it *llm.Item) []byte {
	if it.Source == source && len(it.Raw) > 1 && it.Raw[0] == '"' && json.Valid(it.Raw) {
		b = append(wire.Member(b, "thinking"), it.Raw...)
	}
	if len(it.Calls) == 0 {
		return b
	}
	b = wire.Raw(b, "tool_calls", "[")
	for i := range it.Calls {
		c := &it.Calls[i]
		b = wire.Text(append(wire.Entry(b), '{'), "id", c.ID)
		b = wire.Text(wire.Raw(b, "function", "{"), "name", c.Name)
		if wire.IsObject(b, c.Arguments) {
			b = wire.Raw(b, "arguments", c.Arguments)
		} else {
			b = wire.Raw(b, "arguments", "{}")
		}
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// rest encodes what may differ from turn to turn. A model cannot be made to call a tool; the most that can be done is
// to offer it no other.
func (m *model) rest(b []byte, d *llm.Dialog) []byte {
	if !d.Choice.None && len(d.Tools) > 0 {
		b = wire.Tools(b, d.Tools, func(name string) bool { return d.Choice.Name == "" || d.Choice.Name == name })
	}
	if d.Format != nil {
		b = wire.AppendRaw(wire.Member(b, "format"), d.Format.Schema, `"json"`)
	}
	b = wire.Raw(b, "options", "{")
	b = strconv.AppendInt(wire.Member(b, "num_ctx"), int64(m.o.NumCtx), 10)
	b = wire.Temperature(b, d)
	if d.MaxOutput > 0 {
		b = strconv.AppendInt(wire.Member(b, "num_predict"), d.MaxOutput, 10)
	}
	return wire.Raw(append(b, '}'), "stream", "true")
}
