package jq

import (
	"encoding/base32"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Functions of strings: conversion, formats, searching.

const space = " \t\n\v\f\r"

// ToString returns v as text: a string as it is, anything else as JSON.
func (r *Run) ToString(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return r.ToJSON(v)
}

// stringFunc is a native function of a string. message is the error for any other
// input; it may have a %s that describes the input.
func stringFunc(message string, f func(r *Run, s string) any) nativeFunc {
	return valueFunc(func(r *Run, v any, _ []any) (any, error) {
		s, ok := v.(string)
		switch {
		case ok:
			return f(r, s), nil
		case strings.Contains(message, "%s"):
			return nil, r.fail(message, r.describe(v))
		}
		return nil, r.fail("%s", message)
	})
}

// asciiCase maps the ASCII letters from the given one on by adding delta.
func asciiCase(first, delta rune) nativeFunc {
	return stringFunc(notExploded, func(r *Run, s string) any {
		r.Alloc(int64(len(s)))
		return strings.Map(func(ch rune) rune {
			if ch >= first && ch < first+26 {
				return ch + delta
			}
			return ch
		}, s)
	})
}

const notExploded = "explode input must be a string"

func trim(f func(s string, cut func(rune) bool) string) nativeFunc {
	return stringFunc("%s cannot be trimmed", func(r *Run, s string) any {
		return r.shortened(s, f(s, unicode.IsSpace))
	})
}

// shortened is a part of a text as a result.
func (r *Run) shortened(whole, part string) string {
	r.Alloc(int64(len(part)) + 16)
	return clonePart(whole, part)
}

func trimstr(left, right bool) func(r *Run, v any, a []any) (any, error) {
	return func(r *Run, v any, a []any) (any, error) {
		s, ok := v.(string)
		part, ok2 := a[0].(string)
		if !ok || !ok2 {
			return v, nil
		}
		short := s
		if left {
			short = strings.TrimPrefix(short, part)
		}
		if right {
			short = strings.TrimSuffix(short, part)
		}
		return r.shortened(s, short), nil
	}
}

func affix(name string, f func(s, part string) bool) func(r *Run, v any, a []any) (any, error) {
	return func(r *Run, v any, a []any) (any, error) {
		s, ok := v.(string)
		part, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, r.fail("%s() requires string inputs", name)
		}
		return f(s, part), nil
	}
}

func explode(r *Run, s string) any {
	r.Alloc(24 * int64(len(s)))
	items := make([]any, 0, utf8.RuneCountInString(s))
	for _, ch := range s {
		items = append(items, float64(ch))
	}
	return NewArray(items...)
}

func implode(r *Run, v any, _ []any) (any, error) {
	a, ok := v.(*Array)
	if !ok {
		return nil, r.fail("implode input must be an array")
	}
	r.Alloc(4 * int64(len(a.Items)))
	var b strings.Builder
	for _, item := range a.Items {
		n, ok := floatOf(item)
		if !ok {
			return nil, r.fail("%s can't be imploded, unicode codepoint needs to be numeric", r.describe(item))
		}
		b.WriteRune(rune(min(max(clampInt(n), -1), utf8.MaxRune+1)))
	}
	return b.String(), nil
}

func nativeSplit(r *Run, v any, a []any) (any, error) {
	s, ok := v.(string)
	sep, ok2 := a[0].(string)
	if !ok || !ok2 {
		return nil, r.fail("split input and separator must be strings")
	}
	return r.split(s, sep), nil
}

// join accepts everything but arrays and objects; null is empty.
func join(r *Run, v any, a []any) (any, error) {
	sep, ok := a[0].(string)
	var b strings.Builder
	first := true
	err := r.each(v, nil, func(item any, _ *valuePath) error {
		text := ""
		switch item := item.(type) {
		case nil:
		case *Array, *Object:
			return r.cannot(b.String()+sep, item, "added")
		default:
			text = r.ToString(item)
		}
		if b.Len()+len(text)+len(sep) > b.Cap() {
			r.Alloc(int64(b.Len()+len(text)+len(sep)) * 2)
		}
		if !first && !ok {
			return r.cannot(b.String(), a[0], "added")
		}
		if !first {
			b.WriteString(sep)
		}
		first = false
		b.WriteString(text)
		return nil
	})
	return b.String(), err
}

// format compiles a format such as @csv.
func (r *Run) format(name string) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		r.Pin()
		s, err := r.formatValue(strings.TrimPrefix(name, "@"), v)
		r.Unpin()
		if err != nil {
			return err
		}
		return out(s, p.computed())
	}
}

func formatFn(r *Run, args []Filter) Filter {
	return valueFunc(func(r *Run, v any, a []any) (any, error) {
		name, ok := a[0].(string)
		if !ok {
			return nil, r.fail("%s is not a valid format", r.describe(a[0]))
		}
		return r.formatValue(name, v)
	})(r, args)
}

var html = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&#39;", `"`, "&quot;")

func (r *Run) formatValue(name string, v any) (string, error) {
	switch name {
	case "csv", "tsv":
		return r.row(name, v)
	case "sh":
		return r.shellWords(v)
	case "json":
		return r.ToJSON(v), nil
	}
	s := r.ToString(v)
	r.Alloc(6 * int64(len(s)))
	switch name {
	case "text":
		return s, nil
	case "html":
		return html.Replace(s), nil
	case "uri":
		return uri(s), nil
	case "urid":
		return unURI(s), nil
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(s)), nil
	case "base32":
		return base32.StdEncoding.EncodeToString([]byte(s)), nil
	case "base64d", "base32d":
		decode := base64.RawStdEncoding.DecodeString
		if name == "base32d" {
			decode = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString
		}
		raw, err := decode(strings.TrimRight(s, "="))
		if err != nil {
			return "", r.fail("%s is not valid %s data", r.describe(v), name[:6])
		}
		return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
	}
	return "", r.fail("%s is not a valid format", name)
}

func uri(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func unURI(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

var tsv = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// row is one line of a table.
func (r *Run) row(kind string, v any) (string, error) {
	a, ok := v.(*Array)
	if !ok {
		return "", r.fail("%s cannot be %s-formatted, only array", r.describe(v), kind)
	}
	if kind == "tsv" {
		return r.joinQuoted(a.Items, "\t", "is not valid in a csv row", tsv.Replace)
	}
	return r.joinQuoted(a.Items, ",", "is not valid in a csv row", func(s string) string {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	})
}

// shellWords quotes for a shell.
func (r *Run) shellWords(v any) (string, error) {
	items := []any{v}
	if a, ok := v.(*Array); ok {
		items = a.Items
	}
	return r.joinQuoted(items, " ", "can not be escaped for shell", func(s string) string {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	})
}

// joinQuoted joins scalars; strings are quoted, and null is empty unless it is a shell word.
func (r *Run) joinQuoted(items []any, sep, refuse string, quote func(string) string) (string, error) {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(sep)
		}
		switch item := item.(type) {
		case nil:
			if sep == " " {
				b.WriteString("null")
			}
		case string:
			r.Alloc(4 * int64(len(item)))
			b.WriteString(quote(item))
		case *Array, *Object:
			return "", r.fail("%s %s", r.describe(item), refuse)
		default:
			b.WriteString(r.ToJSON(item))
		}
	}
	return b.String(), nil
}

// nativeIndices finds a string in a string, or an item or run of items in an array.
func nativeIndices(r *Run, v any, a []any) (any, error) {
	switch x := v.(type) {
	case nil:
		return nil, nil
	case string:
		part, ok := a[0].(string)
		if !ok {
			return r.indexValue(v, a[0])
		}
		if part == "" {
			return nil, nil
		}
		return r.textIndices(x, part), nil
	case *Array:
		if list, ok := a[0].(*Array); ok {
			return r.indices(x, list), nil
		}
		return r.indices(x, NewArray(a[0])), nil
	}
	return r.indexValue(v, a[0])
}

func (r *Run) textIndices(s, part string) *Array {
	var found []any
	at, chars := 0, 0
	for {
		i := strings.Index(s[at:], part)
		if i < 0 {
			return NewArray(found...)
		}
		chars += utf8.RuneCountInString(s[at : at+i])
		found = append(found, float64(chars))
		r.Alloc(32)
		_, size := utf8.DecodeRuneInString(s[at+i:])
		at += i + size
		chars++
	}
}

// indices finds where part begins in a; null if part is empty.
func (r *Run) indices(a, part *Array) any {
	n := len(part.Items)
	if n == 0 {
		return nil
	}
	var found []any
	same := func(x, y any) bool { return r.compare(x, y) == 0 }
	for i := range max(0, len(a.Items)-n+1) {
		if slices.EqualFunc(a.Items[i:i+n], part.Items, same) {
			found = append(found, float64(i))
		}
	}
	r.Alloc(24 * int64(len(found)))
	return NewArray(found...)
}
