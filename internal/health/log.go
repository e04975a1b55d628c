package health

import (
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

// maxText is how much of one message or attribute is written, in characters.
const maxText = 16 << 10

// Logger returns a logger that writes one line for each record to w, without secrets.
// A format other than [JSON] is [Text]. A nil level is [slog.LevelInfo], nil secrets are
// those recognised by their form.
//
// Text from outside in a message or an attribute can neither begin a line of its own nor
// control a terminal. An error that wraps a [fault.Error] has further attributes: with
// the key error, these are error_kind, error_op and error_hint. Keys are trusted. Of a
// struct without a String method only the type is written.
func Logger(w io.Writer, format string, level slog.Leveler, secrets *redact.Set) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: redactor{secrets}.replace}
	if format == JSON {
		return slog.New(slog.NewJSONHandler(lineWriter{w, rewriteJSON}, o))
	}
	return slog.New(slog.NewTextHandler(lineWriter{w, rewriteText}, o))
}

// A redactor removes secrets from attributes before they are formatted: in quoted and
// escaped text, a secret would not be found any more.
type redactor struct{ secrets *redact.Set }

// replace redacts one attribute or the message. Numbers, booleans and times contain no
// secrets; a handler calls it for the members of a group.
func (c redactor) replace(groups []string, a slog.Attr) slog.Attr {
	switch v := a.Value; {
	case v.Kind() == slog.KindString && a.Key == slog.MessageKey && len(groups) == 0:
		return slog.String(a.Key, c.text(v.String()))
	case v.Kind() == slog.KindString:
		return slog.String(a.Key, c.value(a.Key, v.String()))
	case v.Kind() == slog.KindAny:
		return c.other(a.Key, v.Any())
	}
	return a
}

// other redacts a value that slog has no kind for.
func (c redactor) other(key string, v any) slog.Attr {
	switch v := v.(type) {
	case nil:
		return slog.Any(key, nil)
	case error:
		return c.failure(key, v)
	case []string:
		return slog.Any(key, c.list(key, v))
	}
	return slog.String(key, c.value(key, safely(func() string { return format(v) })))
}

// failure formats an error such that its attributes have the same types whether it is a
// fault.Error or not: log collectors fail on a string that is sometimes an object.
func (c redactor) failure(key string, err error) slog.Attr {
	attrs := []slog.Attr{slog.String(key, c.value(key, safely(err.Error)))}
	var ours *fault.Error
	if errors.As(err, &ours) && ours != nil {
		attrs = append(attrs, slog.String(key+"_kind", fault.KindOf(ours).String()), slog.String(key+"_op", c.text(ours.Op)))
		if hint := fault.Hint(ours); hint != "" {
			attrs = append(attrs, slog.String(key+"_hint", c.text(hint)))
		}
	}
	return slog.Attr{Value: slog.GroupValue(attrs...)} // without a name: its members are beside the others
}

// list redacts the words of a command, or any other list.
func (c redactor) list(key string, words []string) []string {
	clean := slices.Clone(c.secrets.Argv(words))
	for i, word := range clean {
		clean[i] = c.value(key, word)
	}
	return clean
}

// value redacts the text of a key. The key may show that the text is a secret.
func (c redactor) value(key, text string) string {
	text = c.text(text)
	if named := key + "=" + text; c.secrets.Argv([]string{named})[0] != named {
		return redact.Mark
	}
	return text
}

func (c redactor) text(s string) string { return text.Shorten(c.secrets.Text(s), maxText) }

// format formats a value. A struct may contain bytes, which package fmt writes as
// numbers: a secret in them would not be found.
func format(v any) string {
	t := reflect.TypeOf(v)
	_, stringer := v.(fmt.Stringer)
	switch {
	case stringer:
		return fmt.Sprint(v)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return string(reflect.ValueOf(v).Bytes())
	case simple(t), t.Kind() == reflect.Slice && simple(t.Elem()), t.Kind() == reflect.Map && simple(t.Key()) &&
		simple(t.Elem()):
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("(%T)", v)
}

// simple reports whether a type is a string, a boolean or a number.
func simple(t reflect.Type) bool {
	k := t.Kind()
	return k == reflect.String || reflect.Bool <= k && k <= reflect.Complex128
}

// safely keeps a panic in what is logged from ending the daemon, such as one of a nil
// pointer that implements error.
func safely(format func() string) (text string) {
	defer func() {
		if recover() != nil {
			text = "(cannot be shown)"
		}
	}()
	return format()
}
