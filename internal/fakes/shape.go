package fakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A shape checks a JSON value and returns the first thing wrong with it, with
// its place; empty means that it fits. Numbers are json.Number.
type shape func(at string, v any) string

func anything(string, any) string { return "" }

func text(at string, v any) string {
	if _, ok := v.(string); !ok {
		return at + ": must be a string"
	}
	return ""
}

func boolean(at string, v any) string {
	if _, ok := v.(bool); !ok {
		return at + ": must be true or false"
	}
	return ""
}

// number wants one between two others, both allowed.
func number(low, high float64) shape {
	return func(at string, v any) string {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil || f < low || f > high {
			return fmt.Sprintf("%s: must be a number from %g to %g", at, low, high)
		}
		return ""
	}
}

// integer wants a whole number that is not too small.
func integer(low int64) shape {
	return func(at string, v any) string {
		n, ok := v.(json.Number)
		i, err := n.Int64()
		if !ok || err != nil || i < low {
			return fmt.Sprintf("%s: must be an integer of at least %d", at, low)
		}
		return ""
	}
}

// word wants one of a few strings.
func word(list string) shape {
	return func(at string, v any) string {
		if s, ok := v.(string); !ok || !among(list, s) {
			return fmt.Sprintf("%s: must be one of %s", at, list)
		}
		return ""
	}
}

// matching wants a string of a certain form.
func matching(pattern string) shape {
	re := regexp.MustCompile(pattern)
	return func(at string, v any) string {
		if s, ok := v.(string); !ok || !re.MatchString(s) {
			return fmt.Sprintf("%s: must match %s", at, pattern)
		}
		return ""
	}
}

// either wants a value of one of two kinds. What it says about one that is
// neither comes from the second.
func either(a, b shape) shape {
	return func(at string, v any) string {
		if a(at, v) == "" {
			return ""
		}
		return b(at, v)
	}
}

// list wants an array.
func list(of shape) shape {
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

// A record wants an object with certain members. A name with ! after it must
// be there; the others may be absent or null.
type record map[string]shape

func (r record) shape(at string, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return at + ": must be an object"
	}
	dot := at + "."
	if at == "" {
		dot = ""
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		of, must := r[name+"!"]
		if !must {
			of = r[name]
		}
		if of == nil {
			return fmt.Sprintf("unknown parameter: '%s%s'", dot, name)
		}
		if object[name] == nil && !must {
			continue
		}
		if why := of(dot+name, object[name]); why != "" {
			return why
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		name, must := strings.CutSuffix(name, "!")
		if _, there := object[name]; must && !there {
			return fmt.Sprintf("missing required parameter: '%s%s'", dot, name)
		}
	}
	return ""
}

// byMember wants an object whose shape depends on one of its members.
func byMember(name, usual string, shapes map[string]shape) shape {
	return func(at string, v any) string {
		object, _ := v.(map[string]any)
		kind, ok := object[name].(string)
		if !ok {
			kind = usual
		}
		of := shapes[kind]
		if of == nil {
			return fmt.Sprintf("%s.%s: %q is not supported", at, name, kind)
		}
		return of(at, v)
	}
}

// decode reads one JSON object and nothing else. Unlike json.Unmarshal it does
// not put up with a member that is there twice.
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

// digTrue tells whether there is a true at a path.
func digTrue(v any, path string) bool {
	found, _ := dig(v, path)
	return found == true
}
