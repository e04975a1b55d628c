package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends a text as a JSON string. Bytes that are no UTF-8 become U+FFFD, and nothing is escaped for the
// sake of HTML: models are charged by the token, and \u003c is four of them.
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

// appendEscape appends what stands for a byte that may not stand for itself.
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

// AppendRaw appends JSON as it is, and what stands in for it if it is none, or null.
func AppendRaw(b []byte, raw json.RawMessage, otherwise string) []byte {
	if string(raw) == "null" || !json.Valid(raw) {
		return append(b, otherwise...)
	}
	return append(b, raw...)
}

// IsObject tells whether a text is a JSON object. The room behind b is where it looks at it.
func IsObject(b []byte, text string) bool {
	raw := bytes.TrimSpace(append(b, text...)[len(b):])
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// LenientString is a text that servers spell in several ways: as a string, as null or not at all for an empty one, or
// as the JSON that the string should have held.
type LenientString string

// UnmarshalJSON implements json.Unmarshaler.
func (l *LenientString) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		return nil
	case data[0] != '"':
		*l = LenientString(data)
		return nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	*l = LenientString(s)
	return err
}
