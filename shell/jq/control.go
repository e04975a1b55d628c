package jq

import (
	"fmt"
	"math"
)

// Functions that decide how often their arguments run.

func pathOf(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, &valuePath{}, func(x any, xp *valuePath) error {
			if xp == noPath {
				return r.fail("Invalid path expression with result %s", r.preview(x))
			}
			keys := xp.keys()
			r.Alloc(int64(48 + 32*len(keys)))
			return out(NewArray(keys...), p.computed())
		})
	}
}

func nativeGetpath(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, nil, func(x any, _ *valuePath) error {
			keys, ok := x.(*Array)
			if !ok {
				return r.fail("Path must be specified as an array")
			}
			got, err := r.getpath(v, keys.Items)
			if err != nil {
				return err
			}
			if p == noPath {
				return r.invalidAccess(v, x)
			}
			path := p
			for _, k := range keys.Items {
				path = r.child(path, k)
			}
			return out(got, path)
		})
	}
}

func nativeSelect(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, nil, func(x any, _ *valuePath) error {
			if Truthy(x) {
				return out(v, p)
			}
			return nil
		})
	}
}

func nativeMap(r *Run, args []Filter) Filter {
	f := func(e *scope, v any, p *valuePath, out emit) error {
		return r.each(v, nil, func(x any, _ *valuePath) error { return args[0](e, x, nil, out) })
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		items, err := r.collect(f, e, v)
		if err != nil {
			return err
		}
		return out(NewArray(items...), p.computed())
	}
}

// recurse gives its input, then recurses into each result of the filter. A
// last result is taken in a loop instead of a deeper call, so that counting
// up to a million is no recursion.
func recurse(r *Run, args []Filter) Filter {
	next := func(e *scope, v any, p *valuePath, out emit) error {
		if isContainer(v) {
			return r.each(v, p, out)
		}
		return nil
	}
	if len(args) > 0 {
		next = args[0]
	}
	if len(args) == 2 {
		next = r.pipe(args[0], nativeSelect(r, args[1:]))
	}
	return r.unfold(next, identity)
}

// unfold shows v, then unfolds each result of next for it.
func (r *Run) unfold(next Filter, show Filter) Filter {
	var walk func(e *scope, v any, p *valuePath, out emit) error
	walk = func(e *scope, v any, p *valuePath, out emit) error {
		at := r.invoke()
		defer r.returned(at)
		others := r.Enter()
		for {
			r.roots[at] = rootEntry{v, p}
			if err := show(e, v, p, out); err != nil {
				return err
			}
			var more []rootEntry
			r.roots[others].v = &more
			err := next(e, v, p, func(x any, xp *valuePath) error {
				more = append(more, rootEntry{x, xp})
				r.Alloc(48)
				return nil
			})
			if err != nil || len(more) == 0 {
				return err
			}
			for _, m := range more[:len(more)-1] {
				if err := walk(e, m.v, m.p, out); err != nil {
					return err
				}
			}
			last := more[len(more)-1]
			v, p = last.v, last.p
			r.step()
		}
	}
	return walk
}

// loop is until and while: results of the second argument are inputs
// again, while the condition, the first one, permits.
func loop(until bool) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		next := func(e *scope, v any, p *valuePath, out emit) error {
			return args[0](e, v, nil, func(x any, _ *valuePath) error {
				if Truthy(x) == until {
					return nil
				}
				return args[1](e, v, p, out)
			})
		}
		show := func(e *scope, v any, p *valuePath, out emit) error {
			return args[0](e, v, nil, func(x any, _ *valuePath) error {
				if !Truthy(x) {
					return nil
				}
				return out(v, p)
			})
		}
		return r.unfold(next, show)
	}
}

// repeat runs its argument on the same input without end.
func repeat(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		for {
			if err := args[0](e, v, p, out); err != nil {
				return err
			}
			r.step()
		}
	}
}

func nativePaths(r *Run, _ []Filter) Filter {
	all := pathOf(r, []Filter{recurse(r, nil)})
	return func(e *scope, v any, p *valuePath, out emit) error {
		return all(e, v, p, func(x any, xp *valuePath) error {
			if len(x.(*Array).Items) == 0 {
				return nil
			}
			return out(x, xp)
		})
	}
}

func nativeFirst(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return takeUntil(args[0], e, v, p, func(x any, xp *valuePath) (bool, error) { return false, out(x, xp) })
	}
}

func nativeLast(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		var last any
		var lastPath *valuePath
		found := false
		err := args[0](e, v, p, func(x any, xp *valuePath) error {
			last, lastPath, found = x, xp, true
			r.step()
			return nil
		})
		if err != nil || !found {
			return err
		}
		return out(last, lastPath)
	}
}

// countedFilter runs a filter that depends on a number.
func countedFilter(r *Run, name string, args []Filter, f func(n float64, e *scope, v any, p *valuePath,
	out emit) error) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, nil, func(x any, _ *valuePath) error {
			n, ok := floatOf(x)
			if !ok {
				return r.fail("Invalid arguments to %s", name)
			}
			return f(n, e, v, p, out)
		})
	}
}

func nativeLimit(r *Run, args []Filter) Filter {
	return countedFilter(r, "limit", args, func(n float64, e *scope, v any, p *valuePath, out emit) error {
		if n <= 0 {
			if n < 0 {
				return args[1](e, v, p, out)
			}
			return nil
		}
		return takeUntil(args[1], e, v, p, func(x any, xp *valuePath) (bool, error) {
			n--
			return n > 0, out(x, xp)
		})
	})
}

func skip(r *Run, args []Filter) Filter {
	return countedFilter(r, "skip", args, func(n float64, e *scope, v any, p *valuePath, out emit) error {
		return args[1](e, v, p, func(x any, xp *valuePath) error {
			if n > 0 {
				n--
				r.step()
				return nil
			}
			return out(x, xp)
		})
	})
}

// anyAll looks for one result that decides.
func anyAll(want bool) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			found := !want
			err := takeUntil(r.pipe(args[0], args[1]), e, v, nil, func(x any, _ *valuePath) (bool, error) {
				if Truthy(x) == want {
					found = want
					return false, nil
				}
				r.step()
				return true, nil
			})
			if err != nil {
				return err
			}
			return out(found, p.computed())
		}
	}
}

func nativeRange(r *Run, args []Filter) Filter {
	count := func(from, to, by float64, p *valuePath, out emit) error {
		for i := 0; ; i++ {
			x := from + float64(i)*by
			if by > 0 && x >= to || by < 0 && x <= to || by == 0 && from >= to || math.IsNaN(x) {
				return nil
			}
			r.step()
			if err := out(x, p.computed()); err != nil {
				return err
			}
		}
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		return r.combine(args, e, v, func(vals []any) error {
			bounds := [3]float64{0, 0, 1}
			for i, x := range vals {
				n, ok := floatOf(x)
				if !ok {
					return r.fail("Range bounds must be numeric")
				}
				if len(args) == 1 {
					i = 1
				}
				bounds[i] = n
			}
			return count(bounds[0], bounds[1], bounds[2], p, out)
		})
	}
}

// debug prints to standard error and passes its input on.
func debug(r *Run, _ []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		if _, err := fmt.Fprintln(r.host.Stderr, r.ToJSON(NewArray("DEBUG:", v))); err != nil {
			return err
		}
		return out(v, p)
	}
}

func stderr(r *Run, _ []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		if _, err := fmt.Fprint(r.host.Stderr, r.ToJSON(v)); err != nil {
			return err
		}
		return out(v, p)
	}
}
