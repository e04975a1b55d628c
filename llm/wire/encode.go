package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"hako/llm"
)

// Room estimates the size of a request, so that its buffer need not grow. Line ends and quotes take two bytes instead
// of one, which an eighth pays for in most texts.
func Room(d *llm.Dialog) int {
	n := 1<<10 + len(d.System)
	for i := range d.Tools {
		n += 100 + len(d.Tools[i].Text) + len(d.Tools[i].Schema)
	}
	for i := range d.Items {
		it := &d.Items[i]
		n += 100 + len(it.Text) + len(it.Raw)
		for _, c := range it.Calls {
			n += 120 + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	if d.Format != nil {
		n += len(d.Format.Schema)
	}
	return n + n/8
}

// Messages appends the system text of a dialog and its items, each encoded by item, as the member messages.
func Messages(b []byte, d *llm.Dialog, item func(b []byte, i int) []byte) []byte {
	b = Raw(b, "messages", "[")
	if d.System != "" {
		b = append(Message(b, llm.System, d.System), '}')
	}
	for i := range d.Items {
		b = append(item(b, i), '}')
	}
	return append(b, ']')
}

// Message appends a message to a list, but for its closing brace.
func Message(b []byte, role llm.Role, content string) []byte {
	return Text(Text(append(Entry(b), '{'), "role", string(role)), "content", content)
}

// Tools appends the tools that ok accepts as the member tools.
func Tools(b []byte, tools []llm.Tool, ok func(name string) bool) []byte {
	b = Raw(b, "tools", "[")
	for i := range tools {
		if ok(tools[i].Name) {
			b = append(Function(append(Entry(b), `{"type":"function","function":{`...), &tools[i]), "}}"...)
		}
	}
	return append(b, ']')
}

// Function appends the members that describe a tool.
func Function(b []byte, t *llm.Tool) []byte {
	b = Text(Text(b, "name", t.Name), "description", t.Text)
	return AppendRaw(Member(b, "parameters"), t.Schema, `{"type":"object"}`)
}

// Temperature appends the temperature of a dialog, if it has one.
func Temperature(b []byte, d *llm.Dialog) []byte {
	if d.Temperature == nil {
		return b
	}
	return strconv.AppendFloat(Member(b, "temperature"), *d.Temperature, 'g', -1, 64)
}

// Member appends the name of a member, which must need no quoting, after the members before it.
func Member(b []byte, name string) []byte {
	if c := b[len(b)-1]; c != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// Text appends a member that is a text.
func Text(b []byte, name, value string) []byte { return AppendString(Member(b, name), value) }

// Raw appends a member that is JSON already, or the beginning of some.
func Raw(b []byte, name, value string) []byte { return append(Member(b, name), value...) }

// Entry separates an entry of a list from the one before it.
func Entry(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

const hexDigits = "0123456789abcdef"

// AppendString appends a text as a JSON string. Bytes that are no UTF-8 become U+FFFD, and nothing is escaped for HTML:
// models are charged by the token, and \u003c is four of them.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, s[done:i]...)
		b = appendEscape(b, c)
		i += size
		done = i
	}
	return append(append(b, s[done:]...), '"')
}

// appendEscape appends the escape sequence of a byte.
func appendEscape(b []byte, c byte) []byte {
	switch {
	case c >= utf8.RuneSelf:
		return append(b, "\ufffd"...)
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendRaw appends JSON as it is, or a default if it is null or not valid.
func AppendRaw(b []byte, raw json.RawMessage, otherwise string) []byte {
	if string(raw) == "null" || !json.Valid(raw) {
		return append(b, otherwise...)
	}
	return append(b, raw...)
}

// IsObject reports whether a text is a JSON object. It uses the capacity behind b as a buffer.
func IsObject(b []byte, text string) bool {
	raw := bytes.TrimSpace(append(b, text...)[len(b):])
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
