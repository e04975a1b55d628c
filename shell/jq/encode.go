package jq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An Encoder writes values as JSON.
type Encoder struct {
	Usage  *Usage
	Indent string // one level; empty is compact
	ASCII  bool   // escape everything else
	Sort   bool
	Buf    []byte
	Drain  func([]byte) error // takes the buffer when it is full; nil collects
	limit  int                // stop collecting after so many bytes; 0 never
}

const encodeFull = 64 << 10

// Encode writes v into the buffer, emptying it through Drain as it fills. An
// error of Drain ends the program, see [Usage.Guard].
func (e *Encoder) Encode(v any, depth int) {
	if len(e.Buf) > encodeFull || len(e.Buf) > cap(e.Buf)-256 {
		e.full()
	}
	if depth > maxDepth {
		tooDeep(maxDepth)
	}
	e.Usage.step()
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
		e.text(v)
	case *Array:
		e.array(v, depth)
	case *Object:
		e.object(v, depth)
	}
}

// full empties the buffer, or counts its growth.
func (e *Encoder) full() {
	if e.Drain == nil {
		if cap(e.Buf)-len(e.Buf) < 256 {
			e.Usage.Alloc(2*int64(cap(e.Buf)) + 512)
			e.Buf = slices.Grow(e.Buf, cap(e.Buf)+512)
		}
		return
	}
	if len(e.Buf) <= encodeFull {
		return
	}
	if err := e.Drain(e.Buf); err != nil {
		panic(stop{err})
	}
	e.Buf = e.Buf[:0]
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

func (e *Encoder) array(a *Array, depth int) {
	if len(a.Items) == 0 {
		e.Buf = append(e.Buf, "[]"...)
		return
	}
	for i, v := range a.Items {
		e.Buf = append(e.Buf, "[,"[min(i, 1)])
		e.line(depth + 1)
		if e.Encode(v, depth+1); e.done() {
			return
		}
	}
	e.line(depth)
	e.Buf = append(e.Buf, ']')
}

func (e *Encoder) object(o *Object, depth int) {
	if len(o.Keys) == 0 {
		e.Buf = append(e.Buf, "{}"...)
		return
	}
	keys := o.Keys
	if e.Sort {
		keys = o.sorted()
	}
	for i, k := range keys {
		e.Buf = append(e.Buf, "{,"[min(i, 1)])
		e.line(depth + 1)
		e.text(k)
		e.Buf = append(e.Buf, ':')
		if e.Indent != "" {
			e.Buf = append(e.Buf, ' ')
		}
		v := o.Vals[i]
		if e.Sort {
			v, _ = o.get(k)
		}
		if e.Encode(v, depth+1); e.done() {
			return
		}
	}
	e.line(depth)
	e.Buf = append(e.Buf, '}')
}

// text writes a string with quotes.
func (e *Encoder) text(s string) {
	if e.Drain == nil && len(s) > 256 {
		e.Usage.Alloc(3 * int64(len(s)))
	}
	e.Buf = append(e.Buf, '"')
	for e.Drain != nil && len(s) > encodeFull {
		n := encodeFull
		for n > encodeFull-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		e.Buf = AppendText(e.Buf, s[:n], e.ASCII)
		s = s[n:]
		e.Usage.Spend(int64(n))
		e.full()
	}
	e.Buf = AppendText(e.Buf, s, e.ASCII)
	e.Buf = append(e.Buf, '"')
	e.Usage.Spend(int64(len(s)))
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
		short := strings.IndexRune("\"\\\n\t\r\b\f", r)
		switch {
		case short >= 0:
			b = append(b, '\\', `"\ntrbf`[short])
		case r >= ' ' && r != 0x7f && !ascii:
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

// ToJSON returns v as compact JSON.
func (u *Usage) ToJSON(v any) string {
	e := Encoder{Usage: u}
	e.Encode(v, 0)
	u.Alloc(int64(len(e.Buf)))
	return string(e.Buf)
}

// preview is a value in an error message, shortened as jq does.
func (u *Usage) preview(v any) string {
	e := Encoder{Usage: u, limit: 64}
	e.Encode(v, 0)
	text := strings.ToValidUTF8(string(e.Buf[:min(len(e.Buf), 64)]), "")
	if len(text) > 14 {
		return strings.ToValidUTF8(text[:11], "") + "..."
	}
	return text
}
