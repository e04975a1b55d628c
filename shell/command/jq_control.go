package command

import (
	"fmt"
	"math"
)

// Functions that decide how often their arguments run.

func jqPathOf(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return args[0](e, v, &jqPath{}, func(x any, xp *jqPath) error {
			if xp == jqBadPath {
				return r.fail("Invalid path expression with result %s", r.preview(x))
			}
			keys := xp.keys()
			if err := r.alloc(int64(48 + 32*len(keys))); err != nil {
				return err
			}
			return out(newJqArray(keys...), p.lost())
		})
	}
}

func jqGetpath(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return args[0](e, v, nil, func(x any, _ *jqPath) error {
			keys, ok := x.(*jqArray)
			if !ok {
				return r.fail("Path must be specified as an array")
			}
			got, err := r.getpath(v, keys.items)
			if err != nil {
				return err
			}
			gp := p
			if p == jqBadPath {
				return r.fail("Invalid path expression near attempt to access element %s of %s", r.preview(x), r.preview(v))
			}
			if p != nil {
				if err := r.alloc(jqPathSize * int64(len(keys.items))); err != nil {
					return err
				}
			}
			for _, k := range keys.items {
				gp = gp.to(k)
			}
			return out(got, gp)
		})
	}
}

func jqSelect(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return args[0](e, v, nil, func(x any, _ *jqPath) error {
			if jqTrue(x) {
				return out(v, p)
			}
			return nil
		})
	}
}

func jqMap(r *jqRun, args []jqFilter) jqFilter {
	f := func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return r.each(v, nil, func(x any, _ *jqPath) error { return args[0](e, x, nil, out) })
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		items, err := r.collect(f, e, v)
		if err != nil {
			return err
		}
		return out(newJqArray(items...), p.lost())
	}
}

// jqRecurse gives its input, then recurses into each result of the filter. A
// last result is taken in a loop instead of a deeper call, so that counting
// up to a million is no recursion.
func jqRecurse(r *jqRun, args []jqFilter) jqFilter {
	next := func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		switch v.(type) {
		case *jqArray, *jqObject:
			return r.each(v, p, out)
		}
		return nil
	}
	if len(args) > 0 {
		next = args[0]
	}
	if len(args) == 2 {
		next = r.pipe(args[0], jqSelect(r, args[1:]))
	}
	return r.unfold(next, func(e *jqEnv, v any, p *jqPath, out jqOut) error { return out(v, p) })
}

// unfold shows v, then unfolds each result of next for it.
func (r *jqRun) unfold(next jqFilter, show jqFilter) jqFilter {
	var walk func(e *jqEnv, v any, p *jqPath, out jqOut) error
	walk = func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.invoke()
		if err != nil {
			return err
		}
		defer r.returned(at)
		others, err := r.enter()
		if err != nil {
			return err
		}
		for {
			r.roots[at] = jqRoot{v, p}
			if err := show(e, v, p, out); err != nil {
				return err
			}
			var more []jqRoot
			r.roots[others].v = &more
			err := next(e, v, p, func(x any, xp *jqPath) error {
				more = append(more, jqRoot{x, xp})
				return r.alloc(48)
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

// jqLoop is until and while: results of the second argument are looked at
// again, as long as the first one permits.
func jqLoop(until bool) jqNative {
	return func(r *jqRun, args []jqFilter) jqFilter {
		next := func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			return args[0](e, v, nil, func(x any, _ *jqPath) error {
				if jqTrue(x) == until {
					return nil
				}
				return args[1](e, v, p, out)
			})
		}
		show := func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			return args[0](e, v, nil, func(x any, _ *jqPath) error {
				if !jqTrue(x) {
					return nil
				}
				return out(v, p)
			})
		}
		return r.unfold(next, show)
	}
}

// jqRepeat runs its argument for ever on the same input.
func jqRepeat(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
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

func jqPaths(r *jqRun, _ []jqFilter) jqFilter {
	all := jqPathOf(r, []jqFilter{jqRecurse(r, nil)})
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return all(e, v, p, func(x any, xp *jqPath) error {
			if len(x.(*jqArray).items) == 0 {
				return nil
			}
			return out(x, xp)
		})
	}
}

func jqFirst(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return jqUntil(args[0], e, v, p, func(x any, xp *jqPath) (bool, error) { return false, out(x, xp) })
	}
}

func jqLast(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		var last any
		var lastPath *jqPath
		found := false
		err := args[0](e, v, p, func(x any, xp *jqPath) error {
			last, lastPath, found = x, xp, true
			return r.step()
		})
		if err != nil || !found {
			return err
		}
		return out(last, lastPath)
	}
}

// jqCount runs a filter that depends on a number.
func jqCount(r *jqRun, name string, args []jqFilter, f func(n float64, e *jqEnv, v any, p *jqPath, out jqOut) error) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return args[0](e, v, nil, func(x any, _ *jqPath) error {
			n, ok := jqFloat(x)
			if !ok {
				return r.fail("Invalid arguments to %s", name)
			}
			return f(n, e, v, p, out)
		})
	}
}

func jqLimit(r *jqRun, args []jqFilter) jqFilter {
	return jqCount(r, "limit", args, func(n float64, e *jqEnv, v any, p *jqPath, out jqOut) error {
		if n <= 0 {
			if n < 0 {
				return args[1](e, v, p, out)
			}
			return nil
		}
		return jqUntil(args[1], e, v, p, func(x any, xp *jqPath) (bool, error) {
			n--
			return n > 0, out(x, xp)
		})
	})
}

func jqSkip(r *jqRun, args []jqFilter) jqFilter {
	return jqCount(r, "skip", args, func(n float64, e *jqEnv, v any, p *jqPath, out jqOut) error {
		return args[1](e, v, p, func(x any, xp *jqPath) error {
			if n > 0 {
				n--
				return r.step()
			}
			return out(x, xp)
		})
	})
}

func jqIsEmpty(r *jqRun, args []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		_, found, err := r.one(args[0], e, v)
		if err != nil {
			return err
		}
		return out(!found, p.lost())
	}
}

// jqAnyAll looks for one result that decides.
func jqAnyAll(want bool) jqNative {
	return func(r *jqRun, args []jqFilter) jqFilter {
		return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			found := !want
			err := jqUntil(r.pipe(args[0], args[1]), e, v, nil, func(x any, _ *jqPath) (bool, error) {
				if jqTrue(x) == want {
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

func jqRange(r *jqRun, args []jqFilter) jqFilter {
	count := func(from, to, by float64, p *jqPath, out jqOut) error {
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
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		bounds := [3]float64{0, 0, 1}
		var at func(i int) error
		at = func(i int) error {
			if i == len(args) {
				return count(bounds[0], bounds[1], bounds[2], p, out)
			}
			return args[i](e, v, nil, func(x any, _ *jqPath) error {
				n, ok := jqFloat(x)
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

// jqDebug prints to standard error and passes its input on.
func jqDebug(r *jqRun, args []jqFilter) jqFilter {
	note := func(v any) error {
		text, err := r.tojson(newJqArray("DEBUG:", v))
		if err == nil {
			_, err = fmt.Fprintln(r.host.Stderr, text)
		}
		return err
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		if len(args) == 0 {
			if err := note(v); err != nil {
				return err
			}
			return out(v, p)
		}
		err := args[0](e, v, nil, func(x any, _ *jqPath) error { return note(x) })
		if err != nil {
			return err
		}
		return out(v, p)
	}
}

func jqStderr(r *jqRun, _ []jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		text, err := r.tojson(v)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(r.host.Stderr, text); err != nil {
			return err
		}
		return out(v, p)
	}
}
