package command

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/itchyny/gojq"

	"hako/shell/stream"
)

// Functions of arrays and objects, and what is left to gojq.

func jqAdd(r *jqRun, v any, _ []any) (any, error) {
	var sum any
	var text []byte // strings are gathered, or adding them would be quadratic
	flat := false
	err := r.each(v, nil, func(x any, _ *jqPath) error {
		s, isText := x.(string)
		if prefix, ok := sum.(string); ok && isText {
			if !flat {
				text, flat = append(text, prefix...), true
			}
			if len(text)+len(s) > cap(text) {
				if err := r.alloc(2 * int64(len(text)+len(s))); err != nil {
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

func (r *jqRun) contains(v, part any) (bool, error) {
	at, err := r.invoke()
	if err != nil {
		return false, err
	}
	defer r.returned(at)
	if x, ok := v.(*jqObject); ok {
		if y, ok := part.(*jqObject); ok {
			for i, k := range y.keys {
				item, found := x.get(k)
				if !found {
					return false, nil
				}
				if in, err := r.contains(item, y.vals[i]); !in || err != nil {
					return false, err
				}
			}
			return true, nil
		}
	}
	if x, ok := v.(*jqArray); ok {
		if y, ok := part.(*jqArray); ok {
			return r.containsAll(x, y)
		}
	}
	if s, ok := v.(string); ok {
		if p, ok := part.(string); ok {
			return strings.Contains(s, p), r.spend(int64(len(s)))
		}
	}
	if jqType(v) != jqType(part) {
		return false, r.fail("%s (%s) and %s (%s) cannot have their containment checked", jqType(v), r.preview(v), jqType(part), r.preview(part))
	}
	c, err := r.compare(v, part)
	return c == 0, err
}

func (r *jqRun) containsAll(x, y *jqArray) (bool, error) {
	for _, want := range y.items {
		found := false
		for _, item := range x.items {
			if jqType(item) != jqType(want) {
				if err := r.spend(16); err != nil {
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

func jqToEntries(r *jqRun, v any, _ []any) (any, error) {
	if a, ok := v.(*jqArray); ok {
		return jqArrayEntries(r, a)
	}
	o, ok := v.(*jqObject)
	if !ok {
		return nil, r.fail("%s (%s) has no keys", jqType(v), r.preview(v))
	}
	if err := r.alloc(200 * int64(len(o.keys))); err != nil {
		return nil, err
	}
	items := make([]any, len(o.keys))
	for i, k := range o.keys {
		entry := newJqObject(2)
		entry.put("key", k)
		entry.put("value", o.vals[i])
		items[i] = entry
	}
	return newJqArray(items...), nil
}

func jqArrayEntries(r *jqRun, a *jqArray) (any, error) {
	if err := r.alloc(200 * int64(len(a.items))); err != nil {
		return nil, err
	}
	items := make([]any, len(a.items))
	for i, item := range a.items {
		entry := newJqObject(2)
		entry.put("key", float64(i))
		entry.put("value", item)
		items[i] = entry
	}
	return newJqArray(items...), nil
}

// jqFromEntries accepts all the spellings of key and value that jq does.
func jqFromEntries(r *jqRun, v any, _ []any) (any, error) {
	o := &jqObject{}
	err := r.each(v, nil, func(x any, _ *jqPath) error {
		entry, ok := x.(*jqObject)
		if !ok {
			return r.fail("Cannot index %s with string \"key\"", jqType(x))
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
		o.put(key, val)
		return r.alloc(64)
	})
	return o, err
}

func entryKey(r *jqRun, entry *jqObject) (string, error) {
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
	case *jqArray, *jqObject:
		return "", r.fail("Cannot use %s (%s) as object key", jqType(k), r.preview(k))
	}
	return r.tojson(key)
}

func jqFlatten(r *jqRun, v any, a []any) (any, error) {
	depth := 1e9
	if len(a) > 0 {
		n, ok := jqFloat(a[0])
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
		return r.each(x, nil, func(item any, _ *jqPath) error {
			if inner, ok := item.(*jqArray); ok && depth > 0 {
				return walk(inner, depth-1)
			}
			if len(flat) == cap(flat) {
				if err := r.alloc(32 * int64(len(flat)+4)); err != nil {
					return err
				}
			}
			flat = append(flat, item)
			return nil
		})
	}
	err := walk(v, depth)
	return newJqArray(flat...), err
}

func jqTranspose(r *jqRun, v any, _ []any) (any, error) {
	rows, ok := v.(*jqArray)
	if !ok {
		return nil, r.fail("Cannot iterate over %s (%s)", jqType(v), r.preview(v))
	}
	width := 0
	for _, row := range rows.items {
		a, ok := row.(*jqArray)
		if !ok {
			return nil, r.fail("Cannot index %s with number", jqType(row))
		}
		width = max(width, len(a.items))
	}
	if err := r.alloc(16*int64(width)*int64(len(rows.items)) + 64*int64(width)); err != nil {
		return nil, err
	}
	out := make([]any, width)
	for i := range out {
		col := make([]any, len(rows.items))
		for k, row := range rows.items {
			col[k] = jqItem(row.(*jqArray).items, float64(i))
		}
		out[i] = newJqArray(col...)
	}
	return newJqArray(out...), nil
}

func jqFromjson(r *jqRun, v any, _ []any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return nil, r.fail("%s (%s) only strings can be parsed", jqType(v), r.preview(v))
	}
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	p := &jqParser{m: r.jqMeter, in: stream.NewBytes([]byte(s))}
	x, err := p.value()
	if err == nil {
		_, more := p.value()
		if more == nil {
			return nil, r.fail("Unexpected extra JSON values (while parsing '%s')", s)
		}
	}
	if bad, ok := err.(*jqSyntax); ok {
		return nil, r.fail("%s (while parsing '%s')", bad.text, s)
	}
	return x, err
}

func jqTonumber(r *jqRun, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case float64, jqBig:
		return v, nil
	case string:
		if n, ok := parseJqNumber(strings.TrimSpace(v)); ok && v != "" {
			return n, nil
		}
		return nil, r.fail("Invalid numeric literal at EOF at line 1, column %d (while parsing '%s')", len(v), v)
	}
	return nil, r.fail("%s (%s) cannot be parsed as a number", jqType(v), r.preview(v))
}

func jqToboolean(r *jqRun, v any, _ []any) (any, error) {
	switch v {
	case true, "true":
		return true, nil
	case false, "false":
		return false, nil
	}
	return nil, r.fail("%s (%s) cannot be parsed as a boolean", jqType(v), r.preview(v))
}

func jqBsearch(r *jqRun, v any, a []any) (any, error) {
	list, ok := v.(*jqArray)
	if !ok {
		return nil, r.fail("%s (%s) cannot be searched from", jqType(v), r.preview(v))
	}
	var failed error
	i, found := sort.Find(len(list.items), func(i int) int {
		c, err := r.compare(a[0], list.items[i])
		failed = cmp.Or(failed, err)
		return c
	})
	if found {
		return float64(i), failed
	}
	return float64(-1 - i), failed
}

// environ is the environment of the session, not of the process.
func (r *jqRun) environ() any {
	o := &jqObject{}
	for _, kv := range r.host.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		o.put(name, value)
	}
	return o
}

func jqBuiltinNames() any {
	var names []string
	for key := range jqNatives {
		names = append(names, key)
	}
	for key := range jqPrelude {
		names = append(names, key)
	}
	slices.Sort(names)
	list := newJqArray()
	for _, n := range names {
		if n[0] != '_' {
			list.items = append(list.items, n)
		}
	}
	return list
}

// A jqScalar is a function of gojq that takes and gives small values.
type jqScalar func(v any, a []any) (any, error)

// jqVia borrows a function from gojq: the dates, whose formats are its own.
func jqVia(name string) jqNative {
	return jqFn(func(r *jqRun, v any, a []any) (any, error) {
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

func borrow(r *jqRun, name string, arity int) (jqScalar, error) {
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
			return nil, &jqError{err.Error()}
		}
		return fromGojq(got), nil
	}, nil
}

// toGojq converts the flat values that dates are made of.
func toGojq(v any) any {
	switch v := v.(type) {
	case jqBig:
		return v.float
	case *jqArray:
		out := make([]any, min(len(v.items), 16))
		for i := range out {
			if _, deep := v.items[i].(*jqArray); !deep {
				out[i] = toGojq(v.items[i])
			}
		}
		return out
	case *jqObject:
		return map[string]any{}
	}
	return v
}

func fromGojq(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case []any:
		out := newJqArray()
		for _, x := range v {
			out.items = append(out.items, fromGojq(x))
		}
		return out
	}
	return v
}
