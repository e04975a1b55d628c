package ollama

import (
	"encoding/json"
	"strconv"

	"hako/llm"
	"hako/llm/wire"
)

// source marks thoughts that only this package can show to a model again.
const source = "ollama"

// request spells a dialog: first what never changes, then what grows, then what may differ from turn to turn. The tools
// are among the last, because leaving them out is the only way to forbid them.
func (m *model) request(d *llm.Dialog) []byte {
	b := append(make([]byte, 0, wire.Room(d)), '{')
	b = wire.Text(b, "model", m.name)
	// Otherwise a dialog that is too long loses its beginning without a word.
	b = wire.Raw(b, "truncate", "false")
	b = m.settings(b)
	b = wire.Raw(b, "messages", "[")
	if d.System != "" {
		b = append(wire.Text(append(b, `{"role":"system"`...), "content", d.System), '}')
	}
	for i := range d.Items {
		b = append(m.message(wire.Entry(b), d, i), '}')
	}
	return append(m.rest(append(b, ']'), d), '}')
}

// settings spells what the options say about the model.
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

// message spells an entry of the dialog, but for its closing brace.
func (m *model) message(b []byte, d *llm.Dialog, i int) []byte {
	it := &d.Items[i]
	switch it.Role {
	case llm.Assistant:
		return m.spoken(append(b, `{"role":"assistant"`...), it)
	case llm.Result:
		b = append(b, `{"role":"tool"`...)
		b = wire.Text(b, "content", it.Text)
		b = wire.Text(b, "tool_name", toolName(d.Items[:i], it))
		return wire.Text(b, "tool_call_id", it.CallID)
	case llm.System:
		return wire.Text(append(b, `{"role":"system"`...), "content", it.Text)
	}
	return wire.Text(append(b, `{"role":"user"`...), "content", it.Text)
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

// spoken spells what the model said. Arguments are an object here; what a model wrote instead of one cannot be shown to
// it again.
func (m *model) spoken(b []byte, it *llm.Item) []byte {
	b = wire.Text(b, "content", it.Text)
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

// rest spells what may differ from turn to turn.
func (m *model) rest(b []byte, d *llm.Dialog) []byte {
	b = m.tools(b, d)
	if d.Format != nil {
		b = wire.AppendRaw(wire.Member(b, "format"), d.Format.Schema, `"json"`)
	}
	b = wire.Raw(b, "options", "{")
	b = strconv.AppendInt(wire.Member(b, "num_ctx"), int64(m.o.NumCtx), 10)
	if d.Temperature != nil {
		b = strconv.AppendFloat(wire.Member(b, "temperature"), *d.Temperature, 'g', -1, 64)
	}
	if d.MaxOutput > 0 {
		b = strconv.AppendInt(wire.Member(b, "num_predict"), d.MaxOutput, 10)
	}
	return wire.Raw(append(b, '}'), "stream", "true")
}

// tools spells the tools that may be called. A model cannot be made to call one; the most that can be done is to offer
// it no other.
func (m *model) tools(b []byte, d *llm.Dialog) []byte {
	if d.Choice.None || len(d.Tools) == 0 {
		return b
	}
	b = wire.Raw(b, "tools", "[")
	for i := range d.Tools {
		t := &d.Tools[i]
		if d.Choice.Name != "" && d.Choice.Name != t.Name {
			continue
		}
		b = append(wire.Entry(b), `{"type":"function","function":{`...)
		b = wire.Text(b, "name", t.Name)
		b = wire.Text(b, "description", t.Text)
		b = wire.AppendRaw(wire.Member(b, "parameters"), t.Schema, `{"type":"object"}`)
		b = append(b, "}}"...)
	}
	return append(b, ']')
}
