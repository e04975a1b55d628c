package jq

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Encoder writes values as JSON.
type Encoder struct {
	M      *Meter
	Indent string // one level; empty is compact
	Ascii  bool
	Sort   bool
	Buf    []byte
	Drain  func([]byte) error // takes the buffer when it is full; nil collects
	limit  int                // stop collecting after so many bytes; 0 never
}

const encodeFull = 64 << 10

// Encode writes v into the buffer, emptying it through drain as it fills.
func (e *Encoder) Encode(v any, depth int) error {
	if len(e.Buf) > encodeFull || len(e.Buf) > cap(e.Buf)-256 {
		if err := e.full(); err != nil {
			return err
		}
	}
	if depth > MaxDepth {
		return TooDeep(MaxDepth)
	}
	if err := e.M.step(); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		e.Buf = append(e.Buf, "null"...)
	case bool:
		e.Buf = strconv.AppendBool(e.Buf, v)
	case float64:
		e.Buf = AppendNumber(e.Buf, v)
	case Big:
		e.Buf = append(e.Buf, v.Text...)
	case string:
		return e.text(v)
	case *Array:
		return e.array(v, depth)
	case *Object:
		return e.object(v, depth)
	}
	return nil
}

// full empties the buffer, or counts its growth.
func (e *Encoder) full() error {
	if e.Drain == nil {
		if cap(e.Buf)-len(e.Buf) >= 256 {
			return nil
		}
		if err := e.M.Alloc(2*int64(cap(e.Buf)) + 512); err != nil {
			return err
		}
		e.Buf = slices.Grow(e.Buf, cap(e.Buf)+512)
		return nil
	}
	if len(e.Buf) <= encodeFull {
		return nil
	}
	err := e.Drain(e.Buf)
	e.Buf = e.Buf[:0]
	return err
}

func (e *Encoder) done() bool { return e.limit > 0 && len(e.Buf) > e.limit }

func (e *Encoder) line(depth int) {
	if e.Indent == "" {
		return
	}
	e.Buf = append(e.Buf, '\n')
	for range depth {
		e.Buf = append(e.Buf, e.Indent...)
	}
}

func (e *Encoder) array(a *Array, depth int) error {
	if len(a.Items) == 0 {
		e.Buf = append(e.Buf, "[]"...)
		return nil
	}
	e.Buf = append(e.Buf, '[')
	for i, v := range a.Items {
		if i > 0 {
			e.Buf = append(e.Buf, ',')
		}
		e.line(depth + 1)
		if err := e.Encode(v, depth+1); err != nil || e.done() {
			return err
		}
	}
	e.line(depth)
	e.Buf = append(e.Buf, ']')
	return nil
}

func (e *Encoder) object(o *Object, depth int) error {
	if len(o.Keys) == 0 {
		e.Buf = append(e.Buf, "{}"...)
		return nil
	}
	keys := o.Keys
	if e.Sort {
		keys = o.sorted()
	}
	e.Buf = append(e.Buf, '{')
	for i, k := range keys {
		if i > 0 {
			e.Buf = append(e.Buf, ',')
		}
		e.line(depth + 1)
		if err := e.text(k); err != nil {
			return err
		}
		e.Buf = append(e.Buf, ':')
		if e.Indent != "" {
			e.Buf = append(e.Buf, ' ')
		}
		v := o.Vals[i]
		if e.Sort {
			v, _ = o.get(k)
		}
		if err := e.Encode(v, depth+1); err != nil || e.done() {
			return err
		}
	}
	e.line(depth)
	e.Buf = append(e.Buf, '}')
	return nil
}

// text writes a string with quotes.
func (e *Encoder) text(s string) error {
	if e.Drain == nil && len(s) > 256 {
		if err := e.M.Alloc(3 * int64(len(s))); err != nil {
			return err
		}
	}
	e.Buf = append(e.Buf, '"')
	for e.Drain != nil && len(s) > encodeFull {
		n := encodeFull
		for n > encodeFull-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		e.Buf = AppendText(e.Buf, s[:n], e.Ascii)
		s = s[n:]
		if err := cmp.Or(e.M.Spend(int64(n)), e.full()); err != nil {
			return err
		}
	}
	e.Buf = AppendText(e.Buf, s, e.Ascii)
	e.Buf = append(e.Buf, '"')
	return e.M.Spend(int64(len(s)))
}

// AppendText escapes what JSON demands, and DEL, as jq does.
func AppendText(b []byte, s string, ascii bool) []byte {
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

// Tojson returns v as compact JSON.
func (m *Meter) Tojson(v any) (string, error) {
	e := Encoder{M: m}
	if err := e.Encode(v, 0); err != nil {
		return "", err
	}
	if err := m.Alloc(int64(len(e.Buf))); err != nil {
		return "", err
	}
	return string(e.Buf), nil
}

// preview is a value in an error message, cut to what jq shows.
func (m *Meter) preview(v any) string {
	e := Encoder{M: m, limit: 64}
	e.Encode(v, 0)
	text := strings.ToValidUTF8(string(e.Buf[:min(len(e.Buf), 64)]), "")
	if len(text) > 14 {
		return strings.ToValidUTF8(text[:11], "") + "..."
	}
	return text
}
