package jq

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A nativeFunc makes the filter of a builtin function from its arguments.
type nativeFunc func(r *Run, args []Filter) Filter

// valueFunc is a native function of its input and the values of its arguments.
func valueFunc(f func(r *Run, v any, a []any) (any, error)) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		if len(args) == 0 {
			return func(e *scope, v any, p *valuePath, out emit) error {
				x, err := r.native(f, v, nil)
				if err != nil {
					return err
				}
				return out(x, p.computed())
			}
		}
		return func(e *scope, v any, p *valuePath, out emit) error {
			return r.combine(args, e, v, func(vals []any) error {
				x, err := r.native(f, v, vals)
				if err != nil {
					return err
				}
				return out(x, p.computed())
			})
		}
	}
}

// native calls a function and counts one pass through its values.
func (r *Run) native(f func(r *Run, v any, a []any) (any, error), v any, a []any) (any, error) {
	size := span(v)
	for _, x := range a {
		size += span(x)
	}
	r.Spend(size)
	r.Pin()
	x, err := f(r, v, a)
	r.Unpin()
	return x, err
}

// span is how many bytes one pass through a value reads.
func span(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case *Array:
		return 16 * int64(len(v.Items))
	case *Object:
		return 64 * int64(len(v.Keys))
	}
	return 0
}

// number returns v as a float, or the error that it is none.
func (r *Run) number(v any) (float64, error) {
	n, ok := floatOf(v)
	if !ok {
		return 0, r.fail("%s number required", r.describe(v))
	}
	return n, nil
}

// numberFunc is a native function of one number.
func numberFunc[T any](f func(float64) T) nativeFunc {
	return valueFunc(func(r *Run, v any, _ []any) (any, error) {
		n, err := r.number(v)
		if err != nil {
			return nil, err
		}
		return f(n), nil
	})
}

// numberFunc2 is a native function of two numbers.
func numberFunc2(f func(x, y float64) float64) nativeFunc {
	return valueFunc(func(r *Run, v any, a []any) (any, error) {
		x, err := r.number(a[0])
		if err != nil {
			return nil, err
		}
		y, err := r.number(a[1])
		return f(x, y), err
	})
}

// constFunc is a native function that ignores its input.
func constFunc(v any) nativeFunc {
	return func(*Run, []Filter) Filter { return constant(v) }
}

// typeFilter passes on inputs of some types.
func typeFilter(types ...string) nativeFunc {
	return func(r *Run, _ []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			if slices.Contains(types, typeOf(v)) {
				return out(v, p)
			}
			return nil
		}
	}
}

// keyedBy computes the keys of items and lets finish make the result. refuse is
// the message for an input that is not an array.
func keyedBy(refuse string, finish func(r *Run, keys, items []any) any) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			a, ok := v.(*Array)
			if !ok {
				return r.fail("%s %s", r.describe(v), refuse)
			}
			r.Alloc(64 * int64(len(a.Items)))
			keys, items := make([]any, len(a.Items)), slices.Clone(a.Items)
			at := r.Enter()
			r.roots[at].v = &keys
			for i, item := range items {
				if len(args) == 0 {
					keys[i] = item
					continue
				}
				got, err := r.collect(args[0], e, item)
				if err != nil {
					return err
				}
				keys[i] = NewArray(got...)
			}
			r.Pin()
			x := finish(r, keys, items)
			r.Unpin()
			r.Leave(at)
			return out(x, p.computed())
		}
	}
}

const unsortable = "cannot be sorted, as it is not an array"

// natives are the functions written in Go.
var natives = map[string]nativeFunc{
	"empty/0": func(*Run, []Filter) Filter {
		return func(*scope, any, *valuePath, emit) error { return nil }
	},
	"error/0": func(r *Run, _ []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error { return &Error{v} }
	},
	"error/1": valueFunc(func(r *Run, v any, a []any) (any, error) { return nil, &Error{a[0]} }),
	"not/0":   valueFunc(func(r *Run, v any, _ []any) (any, error) { return !Truthy(v), nil }),
	"path/1":  pathOf, "select/1": nativeSelect, "map/1": nativeMap, "recurse/0": recurse, "recurse/1": recurse,
	"recurse/2": recurse,
	"getpath/1": nativeGetpath, "paths/0": nativePaths, "first/1": nativeFirst, "limit/2": nativeLimit, "skip/2": skip,
	"until/2": loop(true),
	"while/2": loop(false), "repeat/1": repeat, "range/1": nativeRange, "range/2": nativeRange, "range/3": nativeRange,
	"any/2": anyAll(true), "all/2": anyAll(false), "last/1": nativeLast,
	"input/0": nativeInput, "inputs/0": inputs, "debug/0": debug, "stderr/0": stderr,

	"setpath/2": valueFunc(func(r *Run, v any, a []any) (any, error) {
		keys, ok := a[0].(*Array)
		if !ok {
			return nil, r.fail("Path must be specified as an array")
		}
		return r.setpath(v, keys.Items, a[1], nil)
	}),
	"delpaths/1": valueFunc(func(r *Run, v any, a []any) (any, error) {
		paths, ok := a[0].(*Array)
		if !ok {
			return nil, r.fail("Paths must be specified as an array")
		}
		return r.delpaths(v, slices.Clone(paths.Items))
	}),
	"del/1": func(r *Run, args []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			paths, err := r.collect(pathOf(r, args), e, v)
			if err != nil {
				return err
			}
			x, err := r.delpaths(v, paths)
			if err != nil {
				return err
			}
			return out(x, p.computed())
		}
	},

	"length/0": valueFunc(length), "utf8bytelength/0": stringFunc("%s only strings have UTF-8 byte length",
		func(_ *Run, s string) any { return float64(len(s)) }),
	"keys/0":          valueFunc(func(r *Run, v any, _ []any) (any, error) { return keysOf(r, v, true) }),
	"keys_unsorted/0": valueFunc(func(r *Run, v any, _ []any) (any, error) { return keysOf(r, v, false) }),
	"has/1":           valueFunc(has),
	"type/0":          valueFunc(func(r *Run, v any, _ []any) (any, error) { return typeOf(v), nil }),
	"add/0":           valueFunc(nativeAdd),
	"contains/1":      valueFunc(func(r *Run, v any, a []any) (any, error) { return r.contains(v, a[0]) }),
	"inside/1":        valueFunc(func(r *Run, v any, a []any) (any, error) { return r.contains(a[0], v) }),
	"reverse/0":       valueFunc(reverse),
	"to_entries/0":    valueFunc(toEntries), "from_entries/0": valueFunc(fromEntries),
	"flatten/0": valueFunc(flatten), "flatten/1": valueFunc(flatten), "transpose/0": valueFunc(transpose),
	"tojson/0":     valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.ToJSON(v), nil }),
	"fromjson/0":   valueFunc(fromjson),
	"tostring/0":   valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.ToString(v), nil }),
	"tonumber/0":   valueFunc(tonumber),
	"toboolean/0":  valueFunc(toboolean),
	"bsearch/1":    valueFunc(bsearch),
	"env/0":        valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.environ(), nil }),
	"halt/0":       valueFunc(func(r *Run, v any, _ []any) (any, error) { return nil, &Halt{Silent: true} }),
	"halt_error/0": valueFunc(func(r *Run, v any, _ []any) (any, error) { return nil, &Halt{Val: v, Status: 5} }),
	"halt_error/1": valueFunc(func(r *Run, v any, a []any) (any, error) {
		n, ok := floatOf(a[0])
		if !ok {
			return nil, r.fail("halt_error/1: number required")
		}
		return nil, &Halt{Val: v, Status: clampInt(n) & 255}
	}),
	"input_filename/0": valueFunc(func(r *Run, v any, _ []any) (any, error) { file, _ := r.Where(); return file, nil }),
	"input_line_number/0": valueFunc(func(r *Run, v any, _ []any) (any, error) {
		_, line := r.Where()
		return float64(line), nil
	}),
	"now/0": valueFunc(func(r *Run, v any, _ []any) (any, error) {
		return float64(r.host.Now().UnixNano()/int64(time.Microsecond)) / 1e6, nil
	}),
	"builtins/0": valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.names(), nil }),

	"sort/0": keyedBy(unsortable, sortedBy), "sort_by/1": keyedBy(unsortable, sortedBy),
	"group_by/1": keyedBy(unsortable, grouped),
	"unique/0":   keyedBy(unsortable, unique), "unique_by/1": keyedBy(unsortable, unique),
	"min/0": keyedBy("cannot be iterated over", extreme(-1)), "max/0": keyedBy("cannot be iterated over", extreme(1)),
	"min_by/1": keyedBy("cannot be iterated over", extreme(-1)), "max_by/1": keyedBy("cannot be iterated over",
		extreme(1)),

	"arrays/0": typeFilter("array"), "objects/0": typeFilter("object"), "iterables/0": typeFilter("array", "object"),
	"booleans/0": typeFilter("boolean"),
	"numbers/0":  typeFilter("number"), "strings/0": typeFilter("string"), "nulls/0": typeFilter("null"),
	"values/0":  typeFilter("boolean", "number", "string", "array", "object"),
	"scalars/0": typeFilter("null", "boolean", "number", "string"),

	"explode/0": stringFunc(notExploded, explode), "implode/0": valueFunc(implode), "split/1": valueFunc(nativeSplit),
	"join/1":           valueFunc(join),
	"ascii_downcase/0": asciiCase('A', 'a'-'A'), "ascii_upcase/0": asciiCase('a', 'A'-'a'),
	"ltrimstr/1": valueFunc(trimstr(true, false)), "rtrimstr/1": valueFunc(trimstr(false, true)),
	"trimstr/1": valueFunc(trimstr(true, true)),
	"trim/0":    trim(strings.TrimFunc), "ltrim/0": trim(strings.TrimLeftFunc), "rtrim/0": trim(strings.TrimRightFunc),
	"startswith/1": valueFunc(affix("startswith", strings.HasPrefix)),
	"endswith/1":   valueFunc(affix("endswith", strings.HasSuffix)),
	"indices/1":    valueFunc(nativeIndices), "_indices/1": valueFunc(nativeIndices), "_match/3": valueFunc(nativeMatch),
	"format/1": formatFn,

	"infinite/0": constFunc(math.Inf(1)), "nan/0": constFunc(math.NaN()),
	"isinfinite/0": numberFunc(func(f float64) bool { return math.IsInf(f, 0) }), "isnan/0": numberFunc(math.IsNaN),
	"isnormal/0": numberFunc(func(f float64) bool { return !math.IsInf(f, 0) && math.Abs(f) >= 0x1p-1022 }),
	"abs/0":      valueFunc(abs),
	"pow/2":      numberFunc2(math.Pow), "atan2/2": numberFunc2(math.Atan2), "fmod/2": numberFunc2(math.Mod),
	"hypot/2": numberFunc2(math.Hypot),
	"fmin/2":  numberFunc2(math.Min), "fmax/2": numberFunc2(math.Max), "copysign/2": numberFunc2(math.Copysign),
	"drem/2":  numberFunc2(math.Remainder),
	"ldexp/2": numberFunc2(func(x, y float64) float64 { return math.Ldexp(x, clampInt(y)) }),
	"scalb/2": numberFunc2(func(x, y float64) float64 { return math.Ldexp(x, clampInt(y)) }),
	"frexp/0": numberFunc(func(x float64) *Array { f, e := math.Frexp(x); return NewArray(f, float64(e)) }),
	"modf/0":  numberFunc(func(x float64) *Array { whole, part := math.Modf(x); return NewArray(part, whole) }),

	"mktime/0": gojqFunc("mktime"), "gmtime/0": gojqFunc("gmtime"), "localtime/0": gojqFunc("gmtime"),
	"strftime/1": gojqFunc("strftime"), "strflocaltime/1": gojqFunc("strftime"), "strptime/1": gojqFunc("strptime"),
}

// numberNatives are the functions of one number.
var numberNatives = map[string]func(float64) float64{
	"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "trunc": math.Trunc, "sqrt": math.Sqrt,
	"cbrt": math.Cbrt, "fabs": math.Abs, "rint": math.RoundToEven, "nearbyint": math.RoundToEven, "exp": math.Exp,
	"exp2": math.Exp2, "expm1": math.Expm1, "exp10": func(x float64) float64 { return math.Pow(10, x) },
	"log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p, "logb": math.Logb,
	"gamma": lgamma, "lgamma": lgamma, "tgamma": math.Gamma, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
	"asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh,
	"tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"significand": func(x float64) float64 { f, _ := math.Frexp(x); return 2 * f },
}

// nativeFor returns the native function with the name and arity of key, or nil.
func nativeFor(key string) nativeFunc {
	if f, ok := numberNatives[strings.TrimSuffix(key, "/0")]; ok {
		return numberFunc(f)
	}
	return natives[key]
}

func lgamma(x float64) float64 { f, _ := math.Lgamma(x); return f }

func abs(r *Run, v any, _ []any) (any, error) {
	n, ok := floatOf(v)
	if !ok {
		return nil, r.fail("%s has no absolute value", r.describe(v))
	}
	return math.Abs(n), nil
}

func length(r *Run, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return 0.0, nil
	case float64:
		return math.Abs(v), nil
	case Big:
		return math.Abs(v.float), nil
	case string:
		return float64(utf8.RuneCountInString(v)), nil
	case *Array:
		return float64(len(v.Items)), nil
	case *Object:
		return float64(len(v.Keys)), nil
	}
	return nil, r.fail("%s has no length", r.describe(v))
}

func keysOf(r *Run, v any, sorted bool) (any, error) {
	switch v := v.(type) {
	case *Object:
		r.Alloc(32 * int64(len(v.Keys)))
		keys := v.Keys
		if sorted {
			keys = v.sorted()
		}
		items := make([]any, len(keys))
		for i, k := range keys {
			items[i] = k
		}
		return NewArray(items...), nil
	case *Array:
		r.Alloc(24 * int64(len(v.Items)))
		items := make([]any, len(v.Items))
		for i := range items {
			items[i] = float64(i)
		}
		return NewArray(items...), nil
	}
	return nil, r.fail("%s has no keys", r.describe(v))
}

func has(r *Run, v any, a []any) (any, error) {
	switch x := v.(type) {
	case nil:
		return false, nil
	case *Object:
		if k, ok := a[0].(string); ok {
			return x.Find(k) >= 0, nil
		}
	case *Array:
		if n, ok := floatOf(a[0]); ok {
			return n >= 0 && n < float64(len(x.Items)), nil
		}
	}
	return nil, r.fail("Cannot check whether %s has a %s key", typeOf(v), typeOf(a[0]))
}

func reverse(r *Run, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return NewArray(), nil
	case *Array:
		r.Alloc(16 * int64(len(v.Items)))
		items := slices.Clone(v.Items)
		slices.Reverse(items)
		return NewArray(items...), nil
	case string: // as jq 1.7
		r.Alloc(5 * int64(len(v)))
		runes := []rune(v)
		slices.Reverse(runes)
		return string(runes), nil
	}
	return nil, r.fail("Cannot index %s with number", typeOf(v))
}

func sortedBy(r *Run, keys, items []any) any {
	r.sort(keys, items)
	return NewArray(items...)
}

func grouped(r *Run, keys, items []any) any {
	groups, _ := groupBy(r, keys, items)
	return NewArray(groups...)
}

func unique(r *Run, keys, items []any) any {
	_, firsts := groupBy(r, keys, items)
	return NewArray(firsts...)
}

// groupBy sorts and cuts where the key changes.
func groupBy(r *Run, keys, items []any) (groups, firsts []any) {
	r.sort(keys, items)
	start := 0
	for i := range items {
		if i+1 == len(items) || r.compare(keys[i], keys[i+1]) != 0 {
			groups = append(groups, &Array{Items: slices.Clone(items[start : i+1])})
			firsts = append(firsts, items[start])
			start = i + 1
		}
	}
	r.Alloc(arraySize*int64(len(groups)) + itemSize*int64(len(items)))
	return groups, firsts
}

// extreme finds the first smallest item for sign -1, the last largest for 1.
func extreme(sign int) func(r *Run, keys, items []any) any {
	return func(r *Run, keys, items []any) any {
		if len(items) == 0 {
			return nil
		}
		best := 0
		for i := 1; i < len(items); i++ {
			if c := r.compare(keys[i], keys[best]) * sign; c > 0 || c == 0 && sign > 0 {
				best = i
			}
		}
		return items[best]
	}
}

func nativeInput(r *Run, _ []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		x, err := r.Input()
		if err == io.EOF {
			return r.fail("No more inputs")
		}
		if err != nil {
			return err
		}
		return out(x, p.computed())
	}
}

func inputs(r *Run, _ []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		for {
			x, err := r.Input()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := out(x, p.computed()); err != nil {
				return err
			}
		}
	}
}
