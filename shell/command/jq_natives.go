package command

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A jqNative makes the filter of a builtin function from its arguments.
type jqNative func(r *jqRun, args []jqFilter) jqFilter

// jqFn is a native function of its input and the values of its arguments.
func jqFn(f func(r *jqRun, v any, a []any) (any, error)) jqNative {
	return func(r *jqRun, args []jqFilter) jqFilter {
		var at func(i int, got []any, e *jqEnv, v any, out jqOut) error
		at = func(i int, got []any, e *jqEnv, v any, out jqOut) error {
			if i == len(args) {
				x, err := r.native(f, v, got)
				if err != nil {
					return err
				}
				return out(x, nil)
			}
			place, err := r.enter()
			if err != nil {
				return err
			}
			err = args[i](e, v, nil, func(x any, _ *jqPath) error {
				r.roots[place].v = x
				return at(i+1, append(slices.Clip(got), x), e, v, out)
			})
			r.leave(place)
			return err
		}
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			return at(0, nil, e, v, func(x any, _ *jqPath) error { return out(x, p.lost()) })
		}
	}
}

// native calls a function that looks at all of its values at most.
func (r *jqRun) native(f func(r *jqRun, v any, a []any) (any, error), v any, a []any) (any, error) {
	size := jqSpan(v)
	for _, x := range a {
		size += jqSpan(x)
	}
	if err := r.spend(size); err != nil {
		return nil, err
	}
	r.pin()
	x, err := f(r, v, a)
	r.unpin()
	return x, err
}

// jqSpan is how many bytes a function looks at that goes through a value once.
func jqSpan(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case *jqArray:
		return 16 * int64(len(v.items))
	case *jqObject:
		return 64 * int64(len(v.keys))
	}
	return 0
}

// jqMath is a native function of numbers.
func jqMath(name string, f func(float64) float64) jqNative {
	return jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		n, ok := jqFloat(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", jqType(v), r.preview(v))
		}
		return f(n), nil
	})
}

func jqMath2(f func(x, y float64) float64) jqNative {
	return jqFn(func(r *jqRun, v any, a []any) (any, error) {
		x, ok := jqFloat(a[0])
		y, ok2 := jqFloat(a[1])
		if !ok || !ok2 {
			bad := a[0]
			if ok {
				bad = a[1]
			}
			return nil, r.fail("%s (%s) number required", jqType(bad), r.preview(bad))
		}
		return f(x, y), nil
	})
}

// jqKind passes on inputs of some types.
func jqKind(types ...string) jqNative {
	return func(r *jqRun, _ []jqFilter) jqFilter {
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			if slices.Contains(types, jqType(v)) {
				return out(v, p)
			}
			return nil
		}
	}
}

// jqBy finds the keys of items and lets finish make the result. refuse is what
// to say about an input that is no array.
func jqBy(refuse string, finish func(r *jqRun, keys, items []any) (any, error)) jqNative {
	return func(r *jqRun, args []jqFilter) jqFilter {
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			a, ok := v.(*jqArray)
			if !ok {
				return r.fail("%s (%s) %s", jqType(v), r.preview(v), refuse)
			}
			if err := r.alloc(64 * int64(len(a.items))); err != nil {
				return err
			}
			keys, items := make([]any, len(a.items)), slices.Clone(a.items)
			at, err := r.enter()
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
				keys[i] = newJqArray(got...)
			}
			r.pin()
			x, err := finish(r, keys, items)
			r.unpin()
			r.leave(at)
			if err != nil {
				return err
			}
			return out(x, p.lost())
		}
	}
}

const jqUnsortable = "cannot be sorted, as it is not an array"

// jqNatives are the functions written in Go.
var jqNatives = map[string]jqNative{
	"empty/0": func(*jqRun, []jqFilter) jqFilter {
		return func(*jqEnv, any, *jqPath, jqOut) error { return nil }
	},
	"error/0": func(r *jqRun, _ []jqFilter) jqFilter {
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error { return &jqError{v} }
	},
	"error/1": jqFn(func(r *jqRun, v any, a []any) (any, error) { return nil, &jqError{a[0]} }),
	"not/0":   jqFn(func(r *jqRun, v any, _ []any) (any, error) { return !jqTrue(v), nil }),
	"path/1":  jqPathOf, "select/1": jqSelect, "map/1": jqMap, "recurse/0": jqRecurse, "recurse/1": jqRecurse, "recurse/2": jqRecurse,
	"getpath/1": jqGetpath, "paths/0": jqPaths, "first/1": jqFirst, "limit/2": jqLimit, "skip/2": jqSkip, "until/2": jqLoop(true),
	"while/2": jqLoop(false), "repeat/1": jqRepeat, "range/1": jqRange, "range/2": jqRange, "range/3": jqRange,
	"isempty/1": jqIsEmpty, "any/2": jqAnyAll(true), "all/2": jqAnyAll(false), "last/1": jqLast,
	"input/0": jqInput, "inputs/0": jqInputs, "debug/0": jqDebug, "debug/1": jqDebug, "stderr/0": jqStderr,

	"setpath/2": jqFn(func(r *jqRun, v any, a []any) (any, error) {
		keys, ok := a[0].(*jqArray)
		if !ok {
			return nil, r.fail("Path must be specified as an array")
		}
		return r.setpath(v, keys.items, a[1], nil)
	}),
	"delpaths/1": jqFn(func(r *jqRun, v any, a []any) (any, error) {
		paths, ok := a[0].(*jqArray)
		if !ok {
			return nil, r.fail("Paths must be specified as an array")
		}
		return r.delpaths(v, slices.Clone(paths.items))
	}),
	"del/1": func(r *jqRun, args []jqFilter) jqFilter {
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			paths, err := r.collect(jqPathOf(r, args), e, v)
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

	"length/0": jqFn(jqLength), "utf8bytelength/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, r.fail("%s (%s) only strings have UTF-8 byte length", jqType(v), r.preview(v))
		}
		return float64(len(s)), nil
	}),
	"keys/0":          jqFn(func(r *jqRun, v any, _ []any) (any, error) { return jqKeys(r, v, true) }),
	"keys_unsorted/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) { return jqKeys(r, v, false) }),
	"has/1":           jqFn(jqHas),
	"type/0":          jqFn(func(r *jqRun, v any, _ []any) (any, error) { return jqType(v), nil }),
	"add/0":           jqFn(jqAdd),
	"contains/1":      jqFn(func(r *jqRun, v any, a []any) (any, error) { return r.contains(v, a[0]) }),
	"inside/1":        jqFn(func(r *jqRun, v any, a []any) (any, error) { return r.contains(a[0], v) }),
	"reverse/0":       jqFn(jqReverse),
	"to_entries/0":    jqFn(jqToEntries), "from_entries/0": jqFn(jqFromEntries),
	"flatten/0": jqFn(jqFlatten), "flatten/1": jqFn(jqFlatten), "transpose/0": jqFn(jqTranspose),
	"tojson/0":     jqFn(func(r *jqRun, v any, _ []any) (any, error) { return r.tojson(v) }),
	"fromjson/0":   jqFn(jqFromjson),
	"tostring/0":   jqFn(func(r *jqRun, v any, _ []any) (any, error) { return r.tostring(v) }),
	"tonumber/0":   jqFn(jqTonumber),
	"toboolean/0":  jqFn(jqToboolean),
	"toarray/0":    jqFn(func(r *jqRun, v any, _ []any) (any, error) { return jqToarray(v), nil }),
	"bsearch/1":    jqFn(jqBsearch),
	"env/0":        jqFn(func(r *jqRun, v any, _ []any) (any, error) { return r.environ(), nil }),
	"halt/0":       jqFn(func(r *jqRun, v any, _ []any) (any, error) { return nil, &jqHalt{silent: true} }),
	"halt_error/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) { return nil, &jqHalt{val: v, status: 5} }),
	"halt_error/1": jqFn(func(r *jqRun, v any, a []any) (any, error) {
		n, ok := jqFloat(a[0])
		if !ok {
			return nil, r.fail("halt_error/1: number required")
		}
		return nil, &jqHalt{val: v, status: jqInt(n) & 255}
	}),
	"input_filename/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) { file, _ := r.where(); return file, nil }),
	"input_line_number/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		_, line := r.where()
		return float64(line), nil
	}),
	"now/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		return float64(r.host.Now().UnixNano()/int64(time.Microsecond)) / 1e6, nil
	}),
	"builtins/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) { return r.names(), nil }),

	"sort/0": jqBy(jqUnsortable, jqSorted), "sort_by/1": jqBy(jqUnsortable, jqSorted), "group_by/1": jqBy(jqUnsortable, jqGrouped),
	"unique/0": jqBy(jqUnsortable, jqUnique), "unique_by/1": jqBy(jqUnsortable, jqUnique),
	"min/0": jqBy("cannot be iterated over", jqExtreme(-1)), "max/0": jqBy("cannot be iterated over", jqExtreme(1)), "min_by/1": jqBy("cannot be iterated over", jqExtreme(-1)), "max_by/1": jqBy("cannot be iterated over", jqExtreme(1)),

	"arrays/0": jqKind("array"), "objects/0": jqKind("object"), "iterables/0": jqKind("array", "object"), "booleans/0": jqKind("boolean"),
	"numbers/0": jqKind("number"), "strings/0": jqKind("string"), "nulls/0": jqKind("null"),
	"values/0": jqKind("boolean", "number", "string", "array", "object"), "scalars/0": jqKind("null", "boolean", "number", "string"),

	"explode/0": jqFn(jqExplode), "implode/0": jqFn(jqImplode), "split/1": jqFn(jqSplit), "join/1": jqFn(jqJoin),
	"ascii_downcase/0": jqText(strings.ToLower), "ascii_upcase/0": jqText(strings.ToUpper),
	"ltrimstr/1": jqFn(jqTrimstr(true, false)), "rtrimstr/1": jqFn(jqTrimstr(false, true)), "trimstr/1": jqFn(jqTrimstr(true, true)),
	"trim/0": jqTrim(strings.TrimSpace), "ltrim/0": jqTrim(func(s string) string { return strings.TrimLeft(s, jqSpace) }),
	"rtrim/0":      jqTrim(func(s string) string { return strings.TrimRight(s, jqSpace) }),
	"startswith/1": jqFn(jqAffix("startswith", strings.HasPrefix)), "endswith/1": jqFn(jqAffix("endswith", strings.HasSuffix)),
	"indices/1": jqFn(jqIndices), "_indices/1": jqFn(jqIndices), "_match/3": jqFn(jqMatch), "format/1": jqFormatFn,

	"infinite/0":   jqFn(func(r *jqRun, v any, _ []any) (any, error) { return math.Inf(1), nil }),
	"nan/0":        jqFn(func(r *jqRun, v any, _ []any) (any, error) { return math.NaN(), nil }),
	"isinfinite/0": jqFloatIs(func(f float64) bool { return math.IsInf(f, 0) }), "isnan/0": jqFloatIs(math.IsNaN),
	"isnormal/0": jqFloatIs(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) && math.Abs(f) >= 0x1p-1022 }),
	"abs/0":      jqFn(jqAbs),
	"floor/0":    jqMath("floor", math.Floor), "ceil/0": jqMath("ceil", math.Ceil), "round/0": jqMath("round", math.Round),
	"trunc/0": jqMath("trunc", math.Trunc), "sqrt/0": jqMath("sqrt", math.Sqrt), "cbrt/0": jqMath("cbrt", math.Cbrt),
	"fabs/0": jqMath("fabs", math.Abs), "rint/0": jqMath("rint", math.RoundToEven), "nearbyint/0": jqMath("nearbyint", math.RoundToEven),
	"exp/0": jqMath("exp", math.Exp), "exp2/0": jqMath("exp2", math.Exp2), "expm1/0": jqMath("expm1", math.Expm1),
	"exp10/0": jqMath("exp10", func(x float64) float64 { return math.Pow(10, x) }),
	"log/0":   jqMath("log", math.Log), "log2/0": jqMath("log2", math.Log2), "log10/0": jqMath("log10", math.Log10),
	"log1p/0": jqMath("log1p", math.Log1p), "logb/0": jqMath("logb", math.Logb), "gamma/0": jqMath("gamma", jqLgamma),
	"lgamma/0": jqMath("lgamma", jqLgamma), "tgamma/0": jqMath("tgamma", math.Gamma),
	"sin/0": jqMath("sin", math.Sin), "cos/0": jqMath("cos", math.Cos), "tan/0": jqMath("tan", math.Tan),
	"asin/0": jqMath("asin", math.Asin), "acos/0": jqMath("acos", math.Acos), "atan/0": jqMath("atan", math.Atan),
	"sinh/0": jqMath("sinh", math.Sinh), "cosh/0": jqMath("cosh", math.Cosh), "tanh/0": jqMath("tanh", math.Tanh),
	"asinh/0": jqMath("asinh", math.Asinh), "acosh/0": jqMath("acosh", math.Acosh), "atanh/0": jqMath("atanh", math.Atanh),
	"significand/0": jqMath("significand", func(x float64) float64 { f, _ := math.Frexp(x); return 2 * f }),
	"pow/2":         jqMath2(math.Pow), "atan2/2": jqMath2(math.Atan2), "fmod/2": jqMath2(math.Mod), "hypot/2": jqMath2(math.Hypot),
	"fmin/2": jqMath2(math.Min), "fmax/2": jqMath2(math.Max), "copysign/2": jqMath2(math.Copysign), "drem/2": jqMath2(math.Remainder),
	"ldexp/2": jqMath2(func(x, y float64) float64 { return math.Ldexp(x, jqInt(y)) }),
	"scalb/2": jqMath2(func(x, y float64) float64 { return math.Ldexp(x, jqInt(y)) }),
	"frexp/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		n, ok := jqFloat(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", jqType(v), r.preview(v))
		}
		f, e := math.Frexp(n)
		return newJqArray(f, float64(e)), nil
	}),
	"modf/0": jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		n, ok := jqFloat(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", jqType(v), r.preview(v))
		}
		whole, part := math.Modf(n)
		return newJqArray(part, whole), nil
	}),

	"mktime/0": jqVia("mktime"), "gmtime/0": jqVia("gmtime"), "localtime/0": jqVia("gmtime"),
	"strftime/1": jqVia("strftime"), "strflocaltime/1": jqVia("strftime"), "strptime/1": jqVia("strptime"),
}

func jqLgamma(x float64) float64 { f, _ := math.Lgamma(x); return f }

func jqFloatIs(f func(float64) bool) jqNative {
	return jqFn(func(r *jqRun, v any, _ []any) (any, error) {
		n, ok := jqFloat(v)
		if !ok {
			return nil, r.fail("%s (%s) number required", jqType(v), r.preview(v))
		}
		return f(n), nil
	})
}

func jqAbs(r *jqRun, v any, _ []any) (any, error) {
	n, ok := jqFloat(v)
	if !ok {
		return nil, r.fail("%s (%s) has no absolute value", jqType(v), r.preview(v))
	}
	return math.Abs(n), nil
}

func jqLength(r *jqRun, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return 0.0, nil
	case float64:
		return math.Abs(v), nil
	case jqBig:
		return math.Abs(v.float), nil
	case string:
		return float64(utf8.RuneCountInString(v)), nil
	case *jqArray:
		return float64(len(v.items)), nil
	case *jqObject:
		return float64(len(v.keys)), nil
	}
	return nil, r.fail("%s (%s) has no length", jqType(v), r.preview(v))
}

func jqKeys(r *jqRun, v any, sorted bool) (any, error) {
	switch v := v.(type) {
	case *jqObject:
		if err := r.alloc(32 * int64(len(v.keys))); err != nil {
			return nil, err
		}
		keys := v.keys
		if sorted {
			keys = v.sorted()
		}
		items := make([]any, len(keys))
		for i, k := range keys {
			items[i] = k
		}
		return newJqArray(items...), nil
	case *jqArray:
		if err := r.alloc(24 * int64(len(v.items))); err != nil {
			return nil, err
		}
		items := make([]any, len(v.items))
		for i := range items {
			items[i] = float64(i)
		}
		return newJqArray(items...), nil
	}
	return nil, r.fail("%s (%s) has no keys", jqType(v), r.preview(v))
}

func jqHas(r *jqRun, v any, a []any) (any, error) {
	switch x := v.(type) {
	case nil:
		return false, nil
	case *jqObject:
		if k, ok := a[0].(string); ok {
			return x.find(k) >= 0, nil
		}
	case *jqArray:
		if n, ok := jqFloat(a[0]); ok {
			return n >= 0 && n < float64(len(x.items)), nil
		}
	}
	return nil, r.fail("Cannot check whether %s has a %s key", jqType(v), jqType(a[0]))
}

func jqReverse(r *jqRun, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return newJqArray(), nil
	case *jqArray:
		if err := r.alloc(16 * int64(len(v.items))); err != nil {
			return nil, err
		}
		items := slices.Clone(v.items)
		slices.Reverse(items)
		return newJqArray(items...), nil
	case string: // as jq 1.7
		if err := r.alloc(5 * int64(len(v))); err != nil {
			return nil, err
		}
		runes := []rune(v)
		slices.Reverse(runes)
		return string(runes), nil
	}
	return nil, r.fail("Cannot index %s with number", jqType(v))
}

func jqToarray(v any) any {
	if a, ok := v.(*jqArray); ok {
		return a
	}
	return newJqArray(v)
}

func jqSorted(r *jqRun, keys, items []any) (any, error) {
	return newJqArray(items...), r.sort(keys, items)
}

func jqGrouped(r *jqRun, keys, items []any) (any, error) {
	groups, _, err := jqGroups(r, keys, items)
	return newJqArray(groups...), err
}

func jqUnique(r *jqRun, keys, items []any) (any, error) {
	_, firsts, err := jqGroups(r, keys, items)
	return newJqArray(firsts...), err
}

// jqGroups sorts and cuts where the key changes.
func jqGroups(r *jqRun, keys, items []any) (groups, firsts []any, err error) {
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
			groups = append(groups, &jqArray{items: slices.Clone(items[start : i+1])})
			firsts = append(firsts, items[start])
			start = i + 1
		}
	}
	return groups, firsts, r.alloc(jqArraySize*int64(len(groups)) + jqItemSize*int64(len(items)))
}

func jqExtreme(sign int) func(r *jqRun, keys, items []any) (any, error) {
	return func(r *jqRun, keys, items []any) (any, error) {
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

func jqInput(r *jqRun, _ []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		x, err := r.input()
		if err == io.EOF {
			return r.fail("No more inputs")
		}
		if err != nil {
			return err
		}
		return out(x, p.lost())
	}
}

func jqInputs(r *jqRun, _ []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		for {
			x, err := r.input()
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
