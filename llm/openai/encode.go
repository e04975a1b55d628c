package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"hako/llm"
	"hako/llm/wire"
)

// toolChoice appends which tools may be called. begin and end enclose the name of one that must be called.
func toolChoice(b []byte, d *llm.Dialog, begin, end string) []byte {
	switch {
	case len(d.Tools) == 0:
		return b
	case d.Choice.None:
		return wire.Raw(b, "tool_choice", `"none"`)
	case d.Choice.Name != "":
		return append(wire.Text(wire.Raw(b, "tool_choice", begin), "name", d.Choice.Name), end...)
	}
	return wire.Raw(b, "tool_choice", `"auto"`)
}

// schema appends the schema of a format, under a name that the services accept.
func schema(b []byte, f *llm.Format) []byte {
	b = wire.Text(b, "name", formatName(f.Name))
	b = wire.AppendRaw(wire.Member(b, "schema"), f.Schema, "{}")
	return strconv.AppendBool(wire.Member(b, "strict"), strict(f.Schema))
}

func formatName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

// strict reports whether a schema fits the strict mode of the services: every object lists all of its members as
// required and allows no others, and only plain keywords are used. They refuse the request otherwise.
func strict(raw json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil || string(s["type"]) != `"object"` {
		return false
	}
	return strictPart(raw)
}

func strictPart(raw json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	for keyword, value := range s {
		switch keyword {
		case "type", "description", "title", "enum", "properties", "required", "additionalProperties":
		case "items":
			if !strictPart(value) {
				return false
			}
		default:
			return false
		}
	}
	return string(s["type"]) != `"object"` || strictObject(s)
}

func strictObject(s map[string]json.RawMessage) bool {
	var members map[string]json.RawMessage
	var required []string
	json.Unmarshal(s["properties"], &members)
	json.Unmarshal(s["required"], &required)
	if string(s["additionalProperties"]) != "false" || len(required) != len(members) {
		return false
	}
	for _, name := range required {
		if member, ok := members[name]; !ok || !strictPart(member) {
			return false
		}
	}
	return true
}
