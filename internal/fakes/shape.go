package fakes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A shape checks a JSON value and returns the first thing wrong with it, with its path;
// empty means that it fits. Numbers are json.Number.
type shape func(at string, v any) string

//go:embed requests.txt
var requestsText string

// shapes are the records and unions of requests.txt, by name.
var shapes = sync.OnceValue(func() map[string]shape {
	all, members := map[string]shape{}, map[string]shape(nil)
	for line := range strings.Lines(requestsText) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "record":
			fields := record{}
			members = fields
			all[words[1]] = fields.check
		case words[0] == "union":
			members = map[string]shape{}
			all[words[1]] = union{words[2], strings.Join(words[3:], ""), members}.check
		default:
			members[words[0]] = parseShape(all, words[1:])
		}
	}
	return all
})

// parseShape reads a type. A name is looked up when it is used: it may be defined later.
func parseShape(all map[string]shape, words []string) shape {
	if i := slices.Index(words, "|"); i >= 0 {
		a, b := parseShape(all, words[:i]), parseShape(all, words[i+1:])
		return func(at string, v any) string {
			if a(at, v) == "" {
				return ""
			}
			return b(at, v)
		}
	}
	rest := words[1:]
	switch words[0] {
	case "text":
		return func(at string, v any) string { return want[string](v, at+": must be a string") }
	case "bool":
		return func(at string, v any) string { return want[bool](v, at+": must be true or false") }
	case "object":
		return func(at string, v any) string { return want[map[string]any](v, at+": must be an object") }
	case "any":
		return func(string, any) string { return "" }
	case "one":
		return func(at string, v any) string {
			s, _ := v.(string)
			return unless(slices.Contains(rest, s), "%s: must be one of %s", at, strings.Join(rest, " "))
		}
	case "value":
		return func(at string, v any) string {
			n, _ := v.(json.Number)
			return unless(slices.Contains(rest, n.String()), "%s: must be one of %s", at, strings.Join(rest, " "))
		}
	case "like":
		re := regexp.MustCompile(rest[0])
		return func(at string, v any) string {
			s, ok := v.(string)
			return unless(ok && re.MatchString(s), "%s: must match %s", at, re)
		}
	case "int", "number", "digits":
		return numberShape(words[0], rest)
	case "list":
		return listShape(parseShape(all, rest))
	}
	return func(at string, v any) string { return all[words[0]](at, v) }
}

// unless returns a message unless a condition holds.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// want returns a message unless a value is of a type.
func want[T any](v any, message string) string {
	_, ok := v.(T)
	return unless(ok, "%s", message)
}

// numberShape accepts numbers within bounds; digits are those of a query.
func numberShape(kind string, bounds []string) shape {
	low, _ := strconv.ParseFloat(bounds[0], 64)
	if kind == "int" {
		return func(at string, v any) string {
			n, ok := v.(json.Number)
			i, err := n.Int64()
			return unless(ok && err == nil && float64(i) >= low, "%s: must be an integer of at least %.0f", at, low)
		}
	}
	high, _ := strconv.ParseFloat(bounds[1], 64)
	if kind == "digits" {
		return func(at string, v any) string {
			s, _ := v.(string)
			n, err := strconv.Atoi(s)
			return unless(err == nil && float64(n) >= low && float64(n) <= high, "%s: must be an integer from %g to %g", at,
				low, high)
		}
	}
	return func(at string, v any) string {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		return unless(ok && err == nil && f >= low && f <= high, "%s: must be a number from %g to %g", at, low, high)
	}
}

func listShape(of shape) shape {
	return func(at string, v any) string {
		all, ok := v.([]any)
		if !ok {
			return at + ": must be an array"
		}
		for i, v := range all {
			if why := of(fmt.Sprintf("%s[%d]", at, i), v); why != "" {
				return why
			}
		}
		return ""
	}
}

// A record is an object with certain members. A name with ! is required; the others may
// be absent or null.
type record map[string]shape

func (r record) check(at string, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return at + ": must be an object"
	}
	dot := at + "."
	if at == "" {
		dot = ""
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		of, required := r[name+"!"]
		if !required {
			of = r[name]
		}
		if of == nil {
			return fmt.Sprintf("unknown parameter: '%s%s'", dot, name)
		}
		if object[name] == nil && !required {
			continue
		}
		if why := of(dot+name, object[name]); why != "" {
			return why
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		name, required := strings.CutSuffix(name, "!")
		if _, there := object[name]; required && !there {
			return fmt.Sprintf("missing required parameter: '%s%s'", dot, name)
		}
	}
	return ""
}

// A union is an object whose shape depends on one of its members.
type union struct {
	member, defaultKind string
	kinds               map[string]shape
}

func (u union) check(at string, v any) string {
	object, _ := v.(map[string]any)
	kind, ok := object[u.member].(string)
	if !ok {
		kind = u.defaultKind
	}
	of := u.kinds[kind]
	if of == nil {
		return fmt.Sprintf("%s.%s: %q is not supported", at, u.member, kind)
	}
	return of(at, v)
}

// decode parses one JSON object and nothing else. Unlike json.Unmarshal it refuses a
// duplicate member.
func decode(body []byte) (map[string]any, error) {
	var whole json.RawMessage // Unmarshal also refuses what is nested too deeply for value
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := value(d)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	return object, nil
}

func value(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return members(d)
	case json.Delim('['):
		all := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		_, err := d.Token()
		return all, err
	}
	return token, nil
}

func members(d *json.Decoder) (any, error) {
	object := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := value(d)
		if err != nil {
			return nil, err
		}
		key := name.(string)
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("%q is there twice", key)
		}
		object[key] = v
	}
	_, err := d.Token()
	return object, err
}

// dig follows a path such as text.format.type or input.0.role.
func dig(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// digText returns the string at a path, or nothing.
func digText(v any, path string) string {
	found, _ := dig(v, path)
	s, _ := found.(string)
	return s
}

// digList returns the array at a path, or nothing.
func digList(v any, path string) []any {
	found, _ := dig(v, path)
	all, _ := found.([]any)
	return all
}

// digTrue reports whether the value at a path is true.
func digTrue(v any, path string) bool {
	found, _ := dig(v, path)
	return found == true
}
