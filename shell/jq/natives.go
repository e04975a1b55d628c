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
		var at func(i int, got []any, e *scope, v any, out emit) error
		at = func(i int, got []any, e *scope, v any, out emit) error {
			if i == len(args) {
				x, err := r.native(f, v, got)
				if err != nil {
					return err
				}
				return out(x, nil)
			}
			place, err := r.Enter()
			if err != nil {
				return err
			}
			err = args[i](e, v, nil, func(x any, _ *valuePath) error {
				r.roots[place].v = x
				return at(i+1, append(slices.Clip(got), x), e, v, out)
			})
			r.Leave(place)
			return err
		}
		return func(e *scope, v any, p *valuePath, out emit) error {
			return at(0, nil, e, v, func(x any, _ *valuePath) error { return out(x, p.lost()) })
		}
	}
}

// native calls a function that looks at all of its values at most.
func (r *Run) native(f func(r *Run, v any, a []any) (any, error), v any, a []any) (any, error) {
	size := span(v)
	for _, x := range a {
		size += span(x)
	}
	if err := r.Spend(size); err != nil {
		return nil, err
	}
	r.Pin()
	x, err := f(r, v, a)
	r.Unpin()
	return x, err
}

// span is how many bytes a function looks at that goes through a value once.
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

// mathFunc is a native function of numbers.
func mathFunc(name string, f func(float64) float64) nativeFunc {
	return valueFunc(func(r *Run, v any, _ []any) (any, error) {
		n, ok := floatOf(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", typeOf(v), r.preview(v))
		}
		return f(n), nil
	})
}

func math2(f func(x, y float64) float64) nativeFunc {
	return valueFunc(func(r *Run, v any, a []any) (any, error) {
		x, ok := floatOf(a[0])
		y, ok2 := floatOf(a[1])
		if !ok || !ok2 {
			bad := a[0]
			if ok {
				bad = a[1]
			}
			return nil, r.fail("%s (%s) number required", typeOf(bad), r.preview(bad))
		}
		return f(x, y), nil
	})
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

// keyedBy finds the keys of items and lets finish make the result. refuse is what
// to say about an input that is no array.
func keyedBy(refuse string, finish func(r *Run, keys, items []any) (any, error)) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			a, ok := v.(*Array)
			if !ok {
				return r.fail("%s (%s) %s", typeOf(v), r.preview(v), refuse)
			}
			if err := r.Alloc(64 * int64(len(a.Items))); err != nil {
				return err
			}
			keys, items := make([]any, len(a.Items)), slices.Clone(a.Items)
			at, err := r.Enter()
			if err != nil {
				return err
			}
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
			x, err := finish(r, keys, items)
			r.Unpin()
			r.Leave(at)
			if err != nil {
				return err
			}
			return out(x, p.lost())
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
	"not/0":   valueFunc(func(r *Run, v any, _ []any) (any, error) { return !True(v), nil }),
	"path/1":  pathOf, "select/1": nativeSelect, "map/1": nativeMap, "recurse/0": recurse, "recurse/1": recurse,
	"recurse/2": recurse,
	"getpath/1": nativeGetpath, "paths/0": nativePaths, "first/1": nativeFirst, "limit/2": nativeLimit, "skip/2": skip,
	"until/2": loop(true),
	"while/2": loop(false), "repeat/1": repeat, "range/1": nativeRange, "range/2": nativeRange, "range/3": nativeRange,
	"isempty/1": isEmpty, "any/2": anyAll(true), "all/2": anyAll(false), "last/1": nativeLast,
	"input/0": nativeInput, "inputs/0": inputs, "debug/0": debug, "debug/1": debug, "stderr/0": stderr,

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
			return out(x, p.lost())
		}
	},

	"length/0": valueFunc(length), "utf8bytelength/0": valueFunc(func(r *Run, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, r.fail("%s (%s) only strings have UTF-8 byte length", typeOf(v), r.preview(v))
		}
		return float64(len(s)), nil
	}),
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
	"tojson/0":     valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.Tojson(v) }),
	"fromjson/0":   valueFunc(fromjson),
	"tostring/0":   valueFunc(func(r *Run, v any, _ []any) (any, error) { return r.Tostring(v) }),
	"tonumber/0":   valueFunc(tonumber),
	"toboolean/0":  valueFunc(toboolean),
	"toarray/0":    valueFunc(func(r *Run, v any, _ []any) (any, error) { return toarray(v), nil }),
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

	"explode/0": valueFunc(explode), "implode/0": valueFunc(implode), "split/1": valueFunc(nativeSplit),
	"join/1":           valueFunc(join),
	"ascii_downcase/0": textFunc(strings.ToLower), "ascii_upcase/0": textFunc(strings.ToUpper),
	"ltrimstr/1": valueFunc(trimstr(true, false)), "rtrimstr/1": valueFunc(trimstr(false, true)),
	"trimstr/1": valueFunc(trimstr(true, true)),
	"trim/0":    trim(strings.TrimSpace), "ltrim/0": trim(func(s string) string { return strings.TrimLeft(s, space) }),
	"rtrim/0":      trim(func(s string) string { return strings.TrimRight(s, space) }),
	"startswith/1": valueFunc(affix("startswith", strings.HasPrefix)),
	"endswith/1":   valueFunc(affix("endswith", strings.HasSuffix)),
	"indices/1":    valueFunc(nativeIndices), "_indices/1": valueFunc(nativeIndices), "_match/3": valueFunc(nativeMatch),
	"format/1": formatFn,

	"infinite/0":   valueFunc(func(r *Run, v any, _ []any) (any, error) { return math.Inf(1), nil }),
	"nan/0":        valueFunc(func(r *Run, v any, _ []any) (any, error) { return math.NaN(), nil }),
	"isinfinite/0": floatIs(func(f float64) bool { return math.IsInf(f, 0) }), "isnan/0": floatIs(math.IsNaN),
	"isnormal/0": floatIs(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) && math.Abs(f) >= 0x1p-1022 }),
	"abs/0":      valueFunc(abs),
	"floor/0":    mathFunc("floor", math.Floor), "ceil/0": mathFunc("ceil", math.Ceil),
	"round/0": mathFunc("round", math.Round),
	"trunc/0": mathFunc("trunc", math.Trunc), "sqrt/0": mathFunc("sqrt", math.Sqrt), "cbrt/0": mathFunc("cbrt", math.Cbrt),
	"fabs/0": mathFunc("fabs", math.Abs), "rint/0": mathFunc("rint", math.RoundToEven),
	"nearbyint/0": mathFunc("nearbyint", math.RoundToEven),
	"exp/0":       mathFunc("exp", math.Exp), "exp2/0": mathFunc("exp2", math.Exp2),
	"expm1/0": mathFunc("expm1", math.Expm1),
	"exp10/0": mathFunc("exp10", func(x float64) float64 { return math.Pow(10, x) }),
	"log/0":   mathFunc("log", math.Log), "log2/0": mathFunc("log2", math.Log2), "log10/0": mathFunc("log10", math.Log10),
	"log1p/0": mathFunc("log1p", math.Log1p), "logb/0": mathFunc("logb", math.Logb), "gamma/0": mathFunc("gamma", lgamma),
	"lgamma/0": mathFunc("lgamma", lgamma), "tgamma/0": mathFunc("tgamma", math.Gamma),
	"sin/0": mathFunc("sin", math.Sin), "cos/0": mathFunc("cos", math.Cos), "tan/0": mathFunc("tan", math.Tan),
	"asin/0": mathFunc("asin", math.Asin), "acos/0": mathFunc("acos", math.Acos), "atan/0": mathFunc("atan", math.Atan),
	"sinh/0": mathFunc("sinh", math.Sinh), "cosh/0": mathFunc("cosh", math.Cosh), "tanh/0": mathFunc("tanh", math.Tanh),
	"asinh/0": mathFunc("asinh", math.Asinh), "acosh/0": mathFunc("acosh", math.Acosh),
	"atanh/0":       mathFunc("atanh", math.Atanh),
	"significand/0": mathFunc("significand", func(x float64) float64 { f, _ := math.Frexp(x); return 2 * f }),
	"pow/2":         math2(math.Pow), "atan2/2": math2(math.Atan2), "fmod/2": math2(math.Mod),
	"hypot/2": math2(math.Hypot),
	"fmin/2":  math2(math.Min), "fmax/2": math2(math.Max), "copysign/2": math2(math.Copysign),
	"drem/2":  math2(math.Remainder),
	"ldexp/2": math2(func(x, y float64) float64 { return math.Ldexp(x, clampInt(y)) }),
	"scalb/2": math2(func(x, y float64) float64 { return math.Ldexp(x, clampInt(y)) }),
	"frexp/0": valueFunc(func(r *Run, v any, _ []any) (any, error) {
		n, ok := floatOf(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", typeOf(v), r.preview(v))
		}
		f, e := math.Frexp(n)
		return NewArray(f, float64(e)), nil
	}),
	"modf/0": valueFunc(func(r *Run, v any, _ []any) (any, error) {
		n, ok := floatOf(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", typeOf(v), r.preview(v))
		}
		whole, part := math.Modf(n)
		return NewArray(part, whole), nil
	}),

	"mktime/0": gojqFunc("mktime"), "gmtime/0": gojqFunc("gmtime"), "localtime/0": gojqFunc("gmtime"),
	"strftime/1": gojqFunc("strftime"), "strflocaltime/1": gojqFunc("strftime"), "strptime/1": gojqFunc("strptime"),
}

func lgamma(x float64) float64 { f, _ := math.Lgamma(x); return f }

func floatIs(f func(float64) bool) nativeFunc {
	return valueFunc(func(r *Run, v any, _ []any) (any, error) {
		n, ok := floatOf(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", typeOf(v), r.preview(v))
		}
		return f(n), nil
	})
}

func abs(r *Run, v any, _ []any) (any, error) {
	n, ok := floatOf(v)
	if !ok {
		return nil, r.fail("%s (%s) has no absolute value", typeOf(v), r.preview(v))
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
	return nil, r.fail("%s (%s) has no length", typeOf(v), r.preview(v))
}

func keysOf(r *Run, v any, sorted bool) (any, error) {
	switch v := v.(type) {
	case *Object:
		if err := r.Alloc(32 * int64(len(v.Keys))); err != nil {
			return nil, err
		}
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
		if err := r.Alloc(24 * int64(len(v.Items))); err != nil {
			return nil, err
		}
		items := make([]any, len(v.Items))
		for i := range items {
			items[i] = float64(i)
		}
		return NewArray(items...), nil
	}
	return nil, r.fail("%s (%s) has no keys", typeOf(v), r.preview(v))
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
		if err := r.Alloc(16 * int64(len(v.Items))); err != nil {
			return nil, err
		}
		items := slices.Clone(v.Items)
		slices.Reverse(items)
		return NewArray(items...), nil
	case string: // as jq 1.7
		if err := r.Alloc(5 * int64(len(v))); err != nil {
			return nil, err
		}
		runes := []rune(v)
		slices.Reverse(runes)
		return string(runes), nil
	}
	return nil, r.fail("Cannot index %s with number", typeOf(v))
}

func toarray(v any) any {
	if a, ok := v.(*Array); ok {
		return a
	}
	return NewArray(v)
}

func sortedBy(r *Run, keys, items []any) (any, error) {
	return NewArray(items...), r.sort(keys, items)
}

func grouped(r *Run, keys, items []any) (any, error) {
	groups, _, err := groupBy(r, keys, items)
	return NewArray(groups...), err
}

func unique(r *Run, keys, items []any) (any, error) {
	_, firsts, err := groupBy(r, keys, items)
	return NewArray(firsts...), err
}

// groupBy sorts and cuts where the key changes.
func groupBy(r *Run, keys, items []any) (groups, firsts []any, err error) {
	if err := r.sort(keys, items); err != nil {
		return nil, nil, err
	}
	start := 0
	for i := range items {
		c := 0
		if i+1 < len(items) {
			if c, err = r.compare(keys[i], keys[i+1]); err != nil {
				return nil, nil, err
			}
		} else {
			c = 1
		}
		if c != 0 {
			groups = append(groups, &Array{Items: slices.Clone(items[start : i+1])})
			firsts = append(firsts, items[start])
			start = i + 1
		}
	}
	return groups, firsts, r.Alloc(arraySize*int64(len(groups)) + itemSize*int64(len(items)))
}

func extreme(sign int) func(r *Run, keys, items []any) (any, error) {
	return func(r *Run, keys, items []any) (any, error) {
		best := -1
		for i := range items {
			if best < 0 {
				best = i
				continue
			}
			c, err := r.compare(keys[i], keys[best])
			if err != nil {
				return nil, err
			}
			if c*sign > 0 || c == 0 && sign > 0 {
				best = i
			}
		}
		if best < 0 {
			return nil, nil
		}
		return items[best], nil
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
		return out(x, p.lost())
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
			if err := out(x, p.lost()); err != nil {
				return err
			}
		}
	}
}
