package jq

import (
	"fmt"
	"math"
)

// Functions that decide how often their arguments run.

func pathOf(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, &valuePath{}, func(x any, xp *valuePath) error {
			if xp == badPath {
				return r.fail("Invalid path expression with result %s", r.preview(x))
			}
			keys := xp.keys()
			if err := r.Alloc(int64(48 + 32*len(keys))); err != nil {
				return err
			}
			return out(NewArray(keys...), p.lost())
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
			gp := p
			if p == badPath {
				return r.fail("Invalid path expression near attempt to access element %s of %s", r.preview(x), r.preview(v))
			}
			if p != nil {
				if err := r.Alloc(pathSize * int64(len(keys.Items))); err != nil {
					return err
				}
			}
			for _, k := range keys.Items {
				gp = gp.to(k)
			}
			return out(got, gp)
		})
	}
}

func nativeSelect(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return args[0](e, v, nil, func(x any, _ *valuePath) error {
			if True(x) {
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
		return out(NewArray(items...), p.lost())
	}
}

// recurse gives its input, then recurses into each result of the filter. A
// last result is taken in a loop instead of a deeper call, so that counting
// up to a million is no recursion.
func recurse(r *Run, args []Filter) Filter {
	next := func(e *scope, v any, p *valuePath, out emit) error {
		switch v.(type) {
		case *Array, *Object:
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
	return r.unfold(next, func(e *scope, v any, p *valuePath, out emit) error { return out(v, p) })
}

// unfold shows v, then unfolds each result of next for it.
func (r *Run) unfold(next Filter, show Filter) Filter {
	var walk func(e *scope, v any, p *valuePath, out emit) error
	walk = func(e *scope, v any, p *valuePath, out emit) error {
		at, err := r.invoke()
		if err != nil {
			return err
		}
		defer r.returned(at)
		others, err := r.Enter()
		if err != nil {
			return err
		}
		for {
			r.roots[at] = rootEntry{v, p}
			if err := show(e, v, p, out); err != nil {
				return err
			}
			var more []rootEntry
			r.roots[others].v = &more
			err := next(e, v, p, func(x any, xp *valuePath) error {
				more = append(more, rootEntry{x, xp})
				return r.Alloc(48)
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
			if err := r.step(); err != nil {
				return err
			}
		}
	}
	return walk
}

// loop is until and while: results of the second argument are looked at
// again, as long as the first one permits.
func loop(until bool) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		next := func(e *scope, v any, p *valuePath, out emit) error {
			return args[0](e, v, nil, func(x any, _ *valuePath) error {
				if True(x) == until {
					return nil
				}
				return args[1](e, v, p, out)
			})
		}
		show := func(e *scope, v any, p *valuePath, out emit) error {
			return args[0](e, v, nil, func(x any, _ *valuePath) error {
				if !True(x) {
					return nil
				}
				return out(v, p)
			})
		}
		return r.unfold(next, show)
	}
}

// repeat runs its argument for ever on the same input.
func repeat(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		for {
			if err := args[0](e, v, p, out); err != nil {
				return err
			}
			if err := r.step(); err != nil {
				return err
			}
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
			return r.step()
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
				return r.step()
			}
			return out(x, xp)
		})
	})
}

func isEmpty(r *Run, args []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		_, found, err := r.one(args[0], e, v)
		if err != nil {
			return err
		}
		return out(!found, p.lost())
	}
}

// anyAll looks for one result that decides.
func anyAll(want bool) nativeFunc {
	return func(r *Run, args []Filter) Filter {
		return func(e *scope, v any, p *valuePath, out emit) error {
			found := !want
			err := takeUntil(r.pipe(args[0], args[1]), e, v, nil, func(x any, _ *valuePath) (bool, error) {
				if True(x) == want {
					found = want
					return false, nil
				}
				return true, r.step()
			})
			if err != nil {
				return err
			}
			return out(found, p.lost())
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
			if err := r.step(); err != nil {
				return err
			}
			if err := out(x, p.lost()); err != nil {
				return err
			}
		}
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		bounds := [3]float64{0, 0, 1}
		var at func(i int) error
		at = func(i int) error {
			if i == len(args) {
				return count(bounds[0], bounds[1], bounds[2], p, out)
			}
			return args[i](e, v, nil, func(x any, _ *valuePath) error {
				n, ok := floatOf(x)
				if !ok {
					return r.fail("Range bounds must be numeric")
				}
				slot := i
				if len(args) == 1 {
					slot = 1
				}
				bounds[slot] = n
				return at(i + 1)
			})
		}
		return at(0)
	}
}

// debug prints to standard error and passes its input on.
func debug(r *Run, args []Filter) Filter {
	note := func(v any) error {
		text, err := r.Tojson(NewArray("DEBUG:", v))
		if err == nil {
			_, err = fmt.Fprintln(r.host.Stderr, text)
		}
		return err
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		if len(args) == 0 {
			if err := note(v); err != nil {
				return err
			}
			return out(v, p)
		}
		err := args[0](e, v, nil, func(x any, _ *valuePath) error { return note(x) })
		if err != nil {
			return err
		}
		return out(v, p)
	}
}

func stderr(r *Run, _ []Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		text, err := r.Tojson(v)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(r.host.Stderr, text); err != nil {
			return err
		}
		return out(v, p)
	}
}
