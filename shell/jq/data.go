package jq

import (
	"cmp"
	"maps"
	"slices"
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
				r.Alloc(2 * int64(len(text)+len(s)))
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
	at := r.invoke()
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
			r.Spend(int64(len(s)))
			return strings.Contains(s, p), nil
		}
	}
	if typeOf(v) != typeOf(part) {
		return false, r.fail("%s and %s (%s) cannot have their containment checked", r.describe(v),
			typeOf(part), r.preview(part))
	}
	return r.compare(v, part) == 0, nil
}

// containsAll reports whether each item of y is contained in some item of x.
func (r *Run) containsAll(x, y *Array) (bool, error) {
	for _, want := range y.Items {
		var failed error
		found := slices.ContainsFunc(x.Items, func(item any) bool {
			r.Spend(16)
			if typeOf(item) != typeOf(want) {
				return false
			}
			in, err := r.contains(item, want)
			failed = cmp.Or(failed, err)
			return in || err != nil
		})
		if !found || failed != nil {
			return false, failed
		}
	}
	return true, nil
}

func toEntries(r *Run, v any, _ []any) (any, error) {
	var entries []any
	add := func(key, value any) {
		entries = append(entries, &Object{Keys: []string{"key", "value"}, Vals: []any{key, value}})
	}
	switch v := v.(type) {
	case *Array:
		r.Alloc(200 * int64(len(v.Items)))
		for i, item := range v.Items {
			add(float64(i), item)
		}
	case *Object:
		r.Alloc(200 * int64(len(v.Keys)))
		for i, key := range v.Keys {
			add(key, v.Vals[i])
		}
	default:
		return nil, r.fail("%s has no keys", r.describe(v))
	}
	return NewArray(entries...), nil
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
		r.Alloc(64)
		return nil
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
		return "", r.fail("Cannot use %s as object key", r.describe(k))
	}
	return r.ToJSON(key), nil
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
		at := r.invoke()
		defer r.returned(at)
		return r.each(x, nil, func(item any, _ *valuePath) error {
			if inner, ok := item.(*Array); ok && depth > 0 {
				return walk(inner, depth-1)
			}
			if len(flat) == cap(flat) {
				r.Alloc(32 * int64(len(flat)+4))
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
		return nil, r.fail("Cannot iterate over %s", r.describe(v))
	}
	width := 0
	for _, row := range rows.Items {
		a, ok := row.(*Array)
		if !ok {
			return nil, r.fail("Cannot index %s with number", typeOf(row))
		}
		width = max(width, len(a.Items))
	}
	r.Alloc(16*int64(width)*int64(len(rows.Items)) + 64*int64(width))
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
		return nil, r.fail("%s only strings can be parsed", r.describe(v))
	}
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	p := &Parser{Usage: r.Usage, In: stream.NewBytes([]byte(s))}
	x, err := p.Value()
	if err == nil {
		_, more := p.Value()
		if more == nil {
			return nil, r.fail("Unexpected extra JSON values (while parsing '%s')", s)
		}
	}
	if bad, ok := err.(*SyntaxError); ok {
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
	return nil, r.fail("%s cannot be parsed as a number", r.describe(v))
}

func toboolean(r *Run, v any, _ []any) (any, error) {
	switch v {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return nil, r.fail("%s cannot be parsed as a boolean", r.describe(v))
}

func bsearch(r *Run, v any, a []any) (any, error) {
	list, ok := v.(*Array)
	if !ok {
		return nil, r.fail("%s cannot be searched from", r.describe(v))
	}
	i, found := slices.BinarySearchFunc(list.Items, a[0], r.compare)
	if found {
		return float64(i), nil
	}
	return float64(-1 - i), nil
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
	names := slices.Collect(maps.Keys(natives))
	for name := range numberNatives {
		names = append(names, name+"/0")
	}
	names = slices.AppendSeq(names, maps.Keys(preludeFuncs()))
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
