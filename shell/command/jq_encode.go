package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A jqEncoder writes values as JSON.
type jqEncoder struct {
	m      *jqMeter
	indent string // one level; empty is compact
	ascii  bool
	sort   bool
	buf    []byte
	drain  func([]byte) error // takes the buffer when it is full; nil collects
	limit  int                // stop collecting after so many bytes; 0 never
}

const jqEncodeFull = 64 << 10

// encode writes v into the buffer, emptying it through drain as it fills.
func (e *jqEncoder) encode(v any, depth int) error {
	if len(e.buf) > jqEncodeFull || len(e.buf) > cap(e.buf)-256 {
		if err := e.full(); err != nil {
			return err
		}
	}
	if depth > jqMaxDepth {
		return jqTooDeep(jqMaxDepth)
	}
	if err := e.m.step(); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case float64:
		e.buf = appendJqNumber(e.buf, v)
	case jqBig:
		e.buf = append(e.buf, v.text...)
	case string:
		return e.text(v)
	case *jqArray:
		return e.array(v, depth)
	case *jqObject:
		return e.object(v, depth)
	}
	return nil
}

// full empties the buffer, or counts its growth.
func (e *jqEncoder) full() error {
	if e.drain == nil {
		if cap(e.buf)-len(e.buf) >= 256 {
			return nil
		}
		if err := e.m.alloc(2*int64(cap(e.buf)) + 512); err != nil {
			return err
		}
		e.buf = slices.Grow(e.buf, cap(e.buf)+512)
		return nil
	}
	if len(e.buf) <= jqEncodeFull {
		return nil
	}
	err := e.drain(e.buf)
	e.buf = e.buf[:0]
	return err
}

func (e *jqEncoder) done() bool { return e.limit > 0 && len(e.buf) > e.limit }

func (e *jqEncoder) line(depth int) {
	if e.indent == "" {
		return
	}
	e.buf = append(e.buf, '\n')
	for range depth {
		e.buf = append(e.buf, e.indent...)
	}
}

func (e *jqEncoder) array(a *jqArray, depth int) error {
	if len(a.items) == 0 {
		e.buf = append(e.buf, "[]"...)
		return nil
	}
	e.buf = append(e.buf, '[')
	for i, v := range a.items {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.line(depth + 1)
		if err := e.encode(v, depth+1); err != nil || e.done() {
			return err
		}
	}
	e.line(depth)
	e.buf = append(e.buf, ']')
	return nil
}

func (e *jqEncoder) object(o *jqObject, depth int) error {
	if len(o.keys) == 0 {
		e.buf = append(e.buf, "{}"...)
		return nil
	}
	keys := o.keys
	if e.sort {
		keys = o.sorted()
	}
	e.buf = append(e.buf, '{')
	for i, k := range keys {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.line(depth + 1)
		if err := e.text(k); err != nil {
			return err
		}
		e.buf = append(e.buf, ':')
		if e.indent != "" {
			e.buf = append(e.buf, ' ')
		}
		v := o.vals[i]
		if e.sort {
			v, _ = o.get(k)
		}
		if err := e.encode(v, depth+1); err != nil || e.done() {
			return err
		}
	}
	e.line(depth)
	e.buf = append(e.buf, '}')
	return nil
}

// text writes a string with quotes.
func (e *jqEncoder) text(s string) error {
	if e.drain == nil && len(s) > 256 {
		if err := e.m.alloc(3 * int64(len(s))); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '"')
	for e.drain != nil && len(s) > jqEncodeFull {
		n := jqEncodeFull
		for n > jqEncodeFull-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		e.buf = appendJSONText(e.buf, s[:n], e.ascii)
		s = s[n:]
		if err := cmp.Or(e.m.spend(int64(n)), e.full()); err != nil {
			return err
		}
	}
	e.buf = appendJSONText(e.buf, s, e.ascii)
	e.buf = append(e.buf, '"')
	return e.m.spend(int64(len(s)))
}

// appendJSONText escapes what JSON demands, and DEL, as jq does.
func appendJSONText(b []byte, s string, ascii bool) []byte {
	for {
		n := jsonPlain(s, ascii)
		b = append(b, s[:n]...)
		if s = s[n:]; s == "" {
			return b
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r < ' ' || r == 0x7f:
			b = appendU(b, r)
		case !ascii:
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = appendU(appendU(b, hi), lo)
		default:
			b = appendU(b, r)
		}
	}
}

func appendU(b []byte, r rune) []byte {
	return fmt.Appendf(b, `\u%04x`, r)
}

// jsonPlain is how many bytes of s need no escape.
func jsonPlain(s string, ascii bool) int {
	for i := range len(s) {
		ch := s[i]
		if ch < ' ' || ch == '"' || ch == '\\' || ch == 0x7f || ascii && ch >= 0x80 {
			return i
		}
	}
	return len(s)
}

// tojson returns v as compact JSON.
func (m *jqMeter) tojson(v any) (string, error) {
	e := jqEncoder{m: m}
	if err := e.encode(v, 0); err != nil {
		return "", err
	}
	if err := m.alloc(int64(len(e.buf))); err != nil {
		return "", err
	}
	return string(e.buf), nil
}

// preview is a value in an error message, cut to what jq shows.
func (m *jqMeter) preview(v any) string {
	e := jqEncoder{m: m, limit: 64}
	e.encode(v, 0)
	text := strings.ToValidUTF8(string(e.buf[:min(len(e.buf), 64)]), "")
	if len(text) > 14 {
		return strings.ToValidUTF8(text[:11], "") + "..."
	}
	return text
}
