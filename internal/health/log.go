package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"

	"hako/internal/redact"
	"hako/internal/text"
	"hako/run/fault"
)

// The formats of a log.
const (
	Text = "text" // key=value
	JSON = "json" // one object a line
)

// mostText is how much of one message or attribute is written.
const mostText = 16 << 10

// Logger returns a logger that writes one line a record to w, without secrets.
// A format other than [JSON] is [Text]. A nil level is [slog.LevelInfo], nil
// secrets are those that can be told by their spelling.
//
// Text of others may stand in a message or an attribute: it can neither begin a
// line of its own nor give orders to a terminal. An error that holds a
// [fault.Error] brings attributes of its own: under the key error, error_kind,
// error_op and error_hint. Keys are the program's own words and stay as they are.
// Of a structure without a String method only the type is written.
func Logger(w io.Writer, format string, level slog.Leveler, secrets *redact.Set) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == JSON {
		return slog.New(cleaner{slog.NewJSONHandler(lineWriter{w, harmless}, o), secrets})
	}
	return slog.New(cleaner{slog.NewTextHandler(lineWriter{w, readable}, o), secrets})
}

// Level returns the level of that name: debug, info, warn or error. Empty means
// info.
func Level(name string) (slog.Level, error) {
	var l slog.Level
	if name == "" {
		return l, nil
	}
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return l, &fault.Error{Kind: fault.Invalid, Op: "set log level", Subject: name, Why: "there is no such level",
			Hint: "choose debug, info, warn or error"}
	}
	return l, nil
}

// A cleaner removes secrets from a record before another handler formats it:
// quoted and escaped, a secret would not be found any more.
type cleaner struct {
	next    slog.Handler
	secrets *redact.Set
}

// Enabled implements [slog.Handler].
func (c cleaner) Enabled(ctx context.Context, l slog.Level) bool { return c.next.Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (c cleaner) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, c.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(c.attr(a))
		return true
	})
	return c.next.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (c cleaner) WithAttrs(attrs []slog.Attr) slog.Handler {
	return cleaner{c.next.WithAttrs(c.attrs(attrs)), c.secrets}
}

// WithGroup implements [slog.Handler].
func (c cleaner) WithGroup(name string) slog.Handler {
	return cleaner{c.next.WithGroup(name), c.secrets}
}

func (c cleaner) attrs(dirty []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(dirty))
	for i, a := range dirty {
		clean[i] = c.attr(a)
	}
	return clean
}

// attr cleans one attribute. Numbers, truth values and times hold no secrets.
func (c cleaner) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, c.value(a.Key, v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(c.attrs(v.Group())...)}
	case slog.KindAny:
		return c.other(a.Key, v.Any())
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// other cleans what slog has no kind for.
func (c cleaner) other(key string, v any) slog.Attr {
	switch v := v.(type) {
	case nil:
		return slog.Any(key, nil)
	case error:
		return c.failure(key, v)
	case []string:
		return slog.Any(key, c.list(key, v))
	}
	return slog.String(key, c.value(key, safely(func() string { return spell(v) })))
}

// failure spells an error so that its attributes have one type whether it is
// ours or not: what collects logs stumbles over a text that is at times an object.
func (c cleaner) failure(key string, err error) slog.Attr {
	attrs := []slog.Attr{slog.String(key, c.value(key, safely(err.Error)))}
	var ours *fault.Error
	if errors.As(err, &ours) && ours != nil {
		attrs = append(attrs, slog.String(key+"_kind", fault.KindOf(ours).String()), slog.String(key+"_op", c.text(ours.Op)))
		if hint := fault.Hint(ours); hint != "" {
			attrs = append(attrs, slog.String(key+"_hint", c.text(hint)))
		}
	}
	return slog.Attr{Value: slog.GroupValue(attrs...)} // without a name: its members stand beside the others
}

// list cleans the words of a command, or any others.
func (c cleaner) list(key string, words []string) []string {
	clean := slices.Clone(c.secrets.Argv(words))
	for i, word := range clean {
		clean[i] = c.value(key, word)
	}
	return clean
}

// value cleans a text that has a name, which may tell that it is a secret.
func (c cleaner) value(key, text string) string {
	text = c.text(text)
	if named := key + "=" + text; c.secrets.Argv([]string{named})[0] != named {
		return redact.Mark
	}
	return text
}

func (c cleaner) text(s string) string { return text.Shorten(c.secrets.Text(s), mostText) }

// spell writes a value as text. A structure may hold bytes somewhere, which
// package fmt writes as numbers: a secret in them would not be found.
func spell(v any) string {
	t := reflect.TypeOf(v)
	_, speaks := v.(fmt.Stringer)
	switch {
	case speaks:
		return fmt.Sprint(v)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return string(reflect.ValueOf(v).Bytes())
	case simple(t), t.Kind() == reflect.Slice && simple(t.Elem()), t.Kind() == reflect.Map && simple(t.Key()) &&
		simple(t.Elem()):
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("(%T)", v)
}

// simple reports whether a type is one of texts, truth values or numbers.
func simple(t reflect.Type) bool {
	k := t.Kind()
	return k == reflect.String || reflect.Bool <= k && k <= reflect.Complex128
}

// safely keeps a mistake in what is logged from ending the daemon: a nil pointer
// that calls itself an error is the usual one.
func safely(spell func() string) (text string) {
	defer func() {
		if recover() != nil {
			text = "(cannot be shown)"
		}
	}()
	return spell()
}
