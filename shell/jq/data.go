package jq

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/itchyny/gojq"

	"hako/shell/stream"
)

// Functions of arrays and objects, and what is left to gojq.

func nativeAdd(r *Run, v any, _ []any) (any, error) {
	var sum any
	var text []byte // strings are gathered, or adding them would be quadratic
	flat := false
	err := r.each(v, nil, func(x any, _ *valuePath) error {
		s, isText := x.(string)
		if prefix, ok := sum.(string); ok && isText {
			if !flat {
				text, flat = append(text, prefix...), true
			}
			if len(text)+len(s) > cap(text) {
				if err := r.Alloc(2 * int64(len(text)+len(s))); err != nil {
					return err
				}
			}
			text = append(text, s...)
			return nil
		}
		if flat {
			sum, text, flat = string(text), nil, false
		}
		var err error
		sum, err = r.add(sum, x)
		return err
	})
	if flat {
		sum = string(text)
	}
	return sum, err
}

func (r *Run) contains(v, part any) (bool, error) {
	at, err := r.invoke()
	if err != nil {
		return false, err
	}
	defer r.returned(at)
	if x, ok := v.(*Object); ok {
		if y, ok := part.(*Object); ok {
			for i, k := range y.Keys {
				item, found := x.get(k)
				if !found {
					return false, nil
				}
				if in, err := r.contains(item, y.Vals[i]); !in || err != nil {
					return false, err
				}
			}
			return true, nil
		}
	}
	if x, ok := v.(*Array); ok {
		if y, ok := part.(*Array); ok {
			return r.containsAll(x, y)
		}
	}
	if s, ok := v.(string); ok {
		if p, ok := part.(string); ok {
			return strings.Contains(s, p), r.Spend(int64(len(s)))
		}
	}
	if typeOf(v) != typeOf(part) {
		return false, r.fail("%s (%s) and %s (%s) cannot have their containment checked", typeOf(v), r.preview(v),
			typeOf(part), r.preview(part))
	}
	c, err := r.compare(v, part)
	return c == 0, err
}

func (r *Run) containsAll(x, y *Array) (bool, error) {
	for _, want := range y.Items {
		found := false
		for _, item := range x.Items {
			if typeOf(item) != typeOf(want) {
				if err := r.Spend(16); err != nil {
					return false, err
				}
				continue
			}
			in, err := r.contains(item, want)
			if err != nil {
				return false, err
			}
			if found = in; found {
				break
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

func toEntries(r *Run, v any, _ []any) (any, error) {
	if a, ok := v.(*Array); ok {
		return arrayEntries(r, a)
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, r.fail("%s (%s) has no keys", typeOf(v), r.preview(v))
	}
	if err := r.Alloc(200 * int64(len(o.Keys))); err != nil {
		return nil, err
	}
	items := make([]any, len(o.Keys))
	for i, k := range o.Keys {
		entry := NewObject(2)
		entry.Put("key", k)
		entry.Put("value", o.Vals[i])
		items[i] = entry
	}
	return NewArray(items...), nil
}

func arrayEntries(r *Run, a *Array) (any, error) {
	if err := r.Alloc(200 * int64(len(a.Items))); err != nil {
		return nil, err
	}
	items := make([]any, len(a.Items))
	for i, item := range a.Items {
		entry := NewObject(2)
		entry.Put("key", float64(i))
		entry.Put("value", item)
		items[i] = entry
	}
	return NewArray(items...), nil
}

// fromEntries accepts all the spellings of key and value that jq does.
func fromEntries(r *Run, v any, _ []any) (any, error) {
	o := &Object{}
	err := r.each(v, nil, func(x any, _ *valuePath) error {
		entry, ok := x.(*Object)
		if !ok {
			return r.fail("Cannot index %s with string \"key\"", typeOf(x))
		}
		key, err := entryKey(r, entry)
		if err != nil {
			return err
		}
		var val any
		for _, name := range []string{"value", "v", "Value", "V"} {
			if got, ok := entry.get(name); ok {
				if val = got; got != nil && got != false {
					break
				}
			}
		}
		o.Put(key, val)
		return r.Alloc(64)
	})
	return o, err
}

func entryKey(r *Run, entry *Object) (string, error) {
	var key any
	for _, name := range []string{"key", "k", "name", "Name", "Key", "K"} {
		if got, ok := entry.get(name); ok && got != nil {
			if key = got; got != false {
				break
			}
		}
	}
	switch k := key.(type) {
	case string:
		return k, nil
	case nil:
		return "null", nil
	case *Array, *Object:
		return "", r.fail("Cannot use %s (%s) as object key", typeOf(k), r.preview(k))
	}
	return r.Tojson(key)
}

func flatten(r *Run, v any, a []any) (any, error) {
	depth := 1e9
	if len(a) > 0 {
		n, ok := floatOf(a[0])
		if !ok || n < 0 {
			return nil, r.fail("flatten depth must not be negative")
		}
		depth = n
	}
	var flat []any
	var walk func(x any, depth float64) error
	walk = func(x any, depth float64) error {
		at, err := r.invoke()
		if err != nil {
			return err
		}
		defer r.returned(at)
		return r.each(x, nil, func(item any, _ *valuePath) error {
			if inner, ok := item.(*Array); ok && depth > 0 {
				return walk(inner, depth-1)
			}
			if len(flat) == cap(flat) {
				if err := r.Alloc(32 * int64(len(flat)+4)); err != nil {
					return err
				}
			}
			flat = append(flat, item)
			return nil
		})
	}
	err := walk(v, depth)
	return NewArray(flat...), err
}

func transpose(r *Run, v any, _ []any) (any, error) {
	rows, ok := v.(*Array)
	if !ok {
		return nil, r.fail("Cannot iterate over %s (%s)", typeOf(v), r.preview(v))
	}
	width := 0
	for _, row := range rows.Items {
		a, ok := row.(*Array)
		if !ok {
			return nil, r.fail("Cannot index %s with number", typeOf(row))
		}
		width = max(width, len(a.Items))
	}
	if err := r.Alloc(16*int64(width)*int64(len(rows.Items)) + 64*int64(width)); err != nil {
		return nil, err
	}
	out := make([]any, width)
	for i := range out {
		col := make([]any, len(rows.Items))
		for k, row := range rows.Items {
			col[k] = itemAt(row.(*Array).Items, float64(i))
		}
		out[i] = NewArray(col...)
	}
	return NewArray(out...), nil
}

func fromjson(r *Run, v any, _ []any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return nil, r.fail("%s (%s) only strings can be parsed", typeOf(v), r.preview(v))
	}
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	p := &Parser{M: r.Meter, In: stream.NewBytes([]byte(s))}
	x, err := p.Value()
	if err == nil {
		_, more := p.Value()
		if more == nil {
			return nil, r.fail("Unexpected extra JSON values (while parsing '%s')", s)
		}
	}
	if bad, ok := err.(*Syntax); ok {
		return nil, r.fail("%s (while parsing '%s')", bad.Text, s)
	}
	return x, err
}

func tonumber(r *Run, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case float64, Big:
		return v, nil
	case string:
		if n, ok := ParseNumber(strings.TrimSpace(v)); ok && v != "" {
			return n, nil
		}
		return nil, r.fail("Invalid numeric literal at EOF at line 1, column %d (while parsing '%s')", len(v), v)
	}
	return nil, r.fail("%s (%s) cannot be parsed as a number", typeOf(v), r.preview(v))
}

func toboolean(r *Run, v any, _ []any) (any, error) {
	switch v {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return nil, r.fail("%s (%s) cannot be parsed as a boolean", typeOf(v), r.preview(v))
}

func bsearch(r *Run, v any, a []any) (any, error) {
	list, ok := v.(*Array)
	if !ok {
		return nil, r.fail("%s (%s) cannot be searched from", typeOf(v), r.preview(v))
	}
	var failed error
	i, found := sort.Find(len(list.Items), func(i int) int {
		c, err := r.compare(a[0], list.Items[i])
		failed = cmp.Or(failed, err)
		return c
	})
	if found {
		return float64(i), failed
	}
	return float64(-1 - i), failed
}

// environ is the environment of the session, not of the process.
func (r *Run) environ() any {
	o := &Object{}
	for _, kv := range r.host.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		o.Put(name, value)
	}
	return o
}

func builtinNames() any {
	var names []string
	for key := range natives {
		names = append(names, key)
	}
	for key := range preludeSource {
		names = append(names, key)
	}
	slices.Sort(names)
	list := NewArray()
	for _, n := range names {
		if n[0] != '_' {
			list.Items = append(list.Items, n)
		}
	}
	return list
}

// A scalar is a function of gojq that takes and gives small values.
type scalar func(v any, a []any) (any, error)

// gojqFunc borrows a function from gojq: the dates, whose formats are its own.
func gojqFunc(name string) nativeFunc {
	return valueFunc(func(r *Run, v any, a []any) (any, error) {
		f, ok := r.via[name]
		if !ok {
			var err error
			if f, err = borrow(r, name, len(a)); err != nil {
				return nil, err
			}
			r.via[name] = f
		}
		return f(v, a)
	})
}

func borrow(r *Run, name string, arity int) (scalar, error) {
	src, vars := name, []string(nil)
	if arity == 1 {
		src, vars = name+"($a)", []string{"$a"}
	}
	q, err := gojq.Parse(src)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(q, gojq.WithVariables(vars))
	if err != nil {
		return nil, err
	}
	return func(v any, a []any) (any, error) {
		for _, x := range append([]any{v}, a...) {
			if s, ok := x.(string); ok && len(s) > 4096 {
				return nil, r.fail("%s: the string is too long", name)
			}
		}
		args := make([]any, len(a))
		for i := range a {
			args[i] = toGojq(a[i])
		}
		got, _ := code.Run(toGojq(v), args...).Next()
		if err, ok := got.(error); ok {
			return nil, &Error{err.Error()}
		}
		return fromGojq(got), nil
	}, nil
}

// toGojq converts the flat values that dates are made of.
func toGojq(v any) any {
	switch v := v.(type) {
	case Big:
		return v.float
	case *Array:
		out := make([]any, min(len(v.Items), 16))
		for i := range out {
			if _, deep := v.Items[i].(*Array); !deep {
				out[i] = toGojq(v.Items[i])
			}
		}
		return out
	case *Object:
		return map[string]any{}
	}
	return v
}

func fromGojq(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case []any:
		out := NewArray()
		for _, x := range v {
			out.Items = append(out.Items, fromGojq(x))
		}
		return out
	}
	return v
}
