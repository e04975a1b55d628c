package command

import (
	"math"
	"strings"

	"github.com/itchyny/gojq"
)

// operator compiles a binary operator.
func (c *jqCompiler) operator(q *gojq.Query) (jqFilter, error) {
	l, err := c.query(q.Left)
	if err != nil {
		return nil, err
	}
	r, err := c.query(q.Right)
	if err != nil {
		return nil, err
	}
	run := c.run
	switch q.Op {
	case gojq.OpPipe:
		return run.pipe(l, r), nil
	case gojq.OpComma:
		return run.counted(func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			if err := l(e, v, p, out); err != nil {
				return err
			}
			return r(e, v, p, out)
		}), nil
	case gojq.OpAlt:
		return run.counted(run.alternative(l, r)), nil
	case gojq.OpAnd, gojq.OpOr:
		return run.counted(jqLogic(l, r, q.Op == gojq.OpOr)), nil
	case gojq.OpAssign:
		return run.assign(l, r), nil
	case gojq.OpModify:
		return run.modify(l, r), nil
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return run.updateBy(l, r, run.binary(q.Op)), nil
	}
	op := run.binary(q.Op)
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := run.enter()
		if err != nil {
			return err
		}
		err = r(e, v, nil, func(y any, _ *jqPath) error {
			run.roots[at].v = y
			return l(e, v, nil, func(x any, _ *jqPath) error {
				run.extra = x
				z, err := op(x, y)
				if err != nil {
					return err
				}
				return out(z, p.lost())
			})
		})
		run.leave(at)
		return err
	}, nil
}

func jqLogic(l, r jqFilter, or bool) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return l(e, v, nil, func(x any, _ *jqPath) error {
			if jqTrue(x) == or {
				return out(or, p.lost())
			}
			return r(e, v, nil, func(y any, _ *jqPath) error { return out(jqTrue(y), p.lost()) })
		})
	}
}

// alternative gives the results of l that are neither false nor null; if there
// are none, those of r. Errors of l count as nothing.
func (r *jqRun) alternative(l, other jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		found := false
		err := r.try(func(e *jqEnv, v any, p *jqPath, out jqOut) error {
			return l(e, v, p, func(x any, xp *jqPath) error {
				if !jqTrue(x) {
					return nil
				}
				found = true
				return out(x, xp)
			})
		}, nil)(e, v, p, out)
		if err != nil || found {
			return err
		}
		return other(e, v, p, out)
	}
}

type jqBinary func(x, y any) (any, error)

func (r *jqRun) binary(op gojq.Operator) jqBinary {
	switch op {
	case gojq.OpAdd, gojq.OpUpdateAdd:
		return r.add
	case gojq.OpSub, gojq.OpUpdateSub:
		return r.subtract
	case gojq.OpMul, gojq.OpUpdateMul:
		return r.multiply
	case gojq.OpDiv, gojq.OpUpdateDiv:
		return r.divide
	case gojq.OpMod, gojq.OpUpdateMod:
		return r.modulo
	case gojq.OpUpdateAlt:
		return func(x, y any) (any, error) {
			if jqTrue(x) {
				return x, nil
			}
			return y, nil
		}
	}
	holds := map[gojq.Operator]func(int) bool{
		gojq.OpEq: func(c int) bool { return c == 0 }, gojq.OpNe: func(c int) bool { return c != 0 },
		gojq.OpLt: func(c int) bool { return c < 0 }, gojq.OpLe: func(c int) bool { return c <= 0 },
		gojq.OpGt: func(c int) bool { return c > 0 }, gojq.OpGe: func(c int) bool { return c >= 0 },
	}[op]
	return func(x, y any) (any, error) {
		c, err := r.compare(x, y)
		return holds(c), err
	}
}

// cannot is the error of an operator with operands that do not fit.
func (r *jqRun) cannot(x, y any, verb string) error {
	return r.fail("%s (%s) and %s (%s) cannot be %s", jqType(x), r.preview(x), jqType(y), r.preview(y), verb)
}

func (r *jqRun) add(x, y any) (any, error) {
	switch {
	case x == nil:
		return y, nil
	case y == nil:
		return x, nil
	}
	switch a := x.(type) {
	case float64, jqBig:
		n, _ := jqFloat(a)
		if m, ok := jqFloat(y); ok {
			return n + m, nil
		}
	case string:
		if b, ok := y.(string); ok {
			if err := r.alloc(int64(len(a) + len(b))); err != nil {
				return nil, err
			}
			return a + b, nil
		}
	case *jqArray:
		if b, ok := y.(*jqArray); ok {
			cost := len(b.items)
			if !a.tip {
				cost += 2 * len(a.items)
			}
			if err := r.alloc(16 * int64(cost)); err != nil {
				return nil, err
			}
			return a.with(b.items), nil
		}
	case *jqObject:
		if b, ok := y.(*jqObject); ok {
			if err := r.alloc(40 * int64(len(a.keys)+len(b.keys))); err != nil {
				return nil, err
			}
			sum := a.clone()
			for i, k := range b.keys {
				sum.put(k, b.vals[i])
			}
			return sum, nil
		}
	}
	return nil, r.cannot(x, y, "added")
}

func (r *jqRun) subtract(x, y any) (any, error) {
	if a, ok := jqFloat(x); ok {
		if b, ok := jqFloat(y); ok {
			return a - b, nil
		}
	}
	a, okA := x.(*jqArray)
	b, okB := y.(*jqArray)
	if !okA || !okB {
		return nil, r.cannot(x, y, "subtracted")
	}
	var left []any
	for _, item := range a.items {
		at, err := r.position(b.items, item)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			left = append(left, item)
		}
	}
	return newJqArray(left...), r.alloc(16 * int64(len(left)))
}

// position finds an equal item.
func (r *jqRun) position(items []any, item any) (int, error) {
	for i, x := range items {
		c, err := r.compare(x, item)
		if err != nil {
			return 0, err
		}
		if c == 0 {
			return i, nil
		}
	}
	return -1, nil
}

func (r *jqRun) multiply(x, y any) (any, error) {
	a, okA := jqFloat(x)
	b, okB := jqFloat(y)
	if okA && okB {
		return a * b, nil
	}
	if s, ok := x.(string); ok && okB {
		return r.repeatText(s, b)
	}
	if s, ok := y.(string); ok && okA {
		return r.repeatText(s, a)
	}
	if p, ok := x.(*jqObject); ok {
		if q, ok := y.(*jqObject); ok {
			return r.merge(p, q)
		}
	}
	return nil, r.cannot(x, y, "multiplied")
}

// repeatText is s n times; n of zero or less gives null.
func (r *jqRun) repeatText(s string, n float64) (any, error) {
	if n <= 0 || math.IsNaN(n) {
		return nil, nil
	}
	times := max(1, int64(math.Ceil(min(n, 1<<40)-0.5)))
	if n < 1 {
		times = 1
	}
	if len(s) > 0 && times > (1<<50)/int64(len(s)) {
		times = (1 << 50) / int64(len(s))
	}
	if err := r.alloc(times * int64(len(s))); err != nil {
		return nil, err
	}
	return strings.Repeat(s, int(times)), nil
}

// merge adds objects inside of objects.
func (r *jqRun) merge(x, y *jqObject) (any, error) {
	at, err := r.invoke()
	if err != nil {
		return nil, err
	}
	defer r.returned(at)
	r.pin()
	defer r.unpin()
	if err := r.alloc(40 * int64(len(x.keys)+len(y.keys))); err != nil {
		return nil, err
	}
	sum := x.clone()
	for i, k := range y.keys {
		item := y.vals[i]
		old, _ := sum.get(k)
		if p, ok := old.(*jqObject); ok {
			if q, ok := item.(*jqObject); ok {
				var err error
				if item, err = r.merge(p, q); err != nil {
					return nil, err
				}
			}
		}
		sum.put(k, item)
	}
	return sum, nil
}

func (r *jqRun) divide(x, y any) (any, error) {
	a, okA := jqFloat(x)
	b, okB := jqFloat(y)
	if okA && okB {
		if b == 0 {
			return nil, r.cannot(x, y, "divided because the divisor is zero")
		}
		return a / b, nil
	}
	s, okS := x.(string)
	sep, okT := y.(string)
	if okS && okT {
		return r.split(s, sep)
	}
	return nil, r.cannot(x, y, "divided")
}

func (r *jqRun) split(s, sep string) (any, error) {
	if s == "" {
		return newJqArray(), nil
	}
	n := strings.Count(s, sep) + 1
	if err := r.alloc(48*int64(n) + int64(len(s))); err != nil {
		return nil, err
	}
	items := make([]any, 0, n)
	for part := range strings.SplitSeq(s, sep) {
		items = append(items, jqPart(s, part))
	}
	return newJqArray(items...), nil
}

// jqPart is a part of a text as a value of its own. A small part would keep all
// of a large text in memory, so it is copied.
func jqPart(whole, part string) string {
	if len(whole) > jqLongText && 2*len(part) < len(whole) {
		return strings.Clone(part)
	}
	return part
}

func (r *jqRun) modulo(x, y any) (any, error) {
	a, okA := jqFloat(x)
	b, okB := jqFloat(y)
	if !okA || !okB {
		return nil, r.cannot(x, y, "divided (remainder)")
	}
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN(), nil
	}
	m := jqToInt64(b)
	if m == 0 {
		return nil, r.cannot(x, y, "divided (remainder) because the divisor is zero")
	}
	if m < 0 {
		m = -max(m, -math.MaxInt64)
	}
	return float64(jqToInt64(a) % m), nil
}

func jqToInt64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// assign is l = r: for each value of r, all places of l get it.
func (r *jqRun) assign(l, right jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return right(e, v, nil, func(x any, _ *jqPath) error {
			changed, err := r.update(l, e, v, func(any, jqOut) error { return nil }, &x)
			if err != nil {
				return err
			}
			return out(changed, p.lost())
		})
	}
}

// modify is l |= f.
func (r *jqRun) modify(l, f jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		changed, err := r.update(l, e, v, func(old any, out jqOut) error { return f(e, old, nil, out) }, nil)
		if err != nil {
			return err
		}
		return out(changed, p.lost())
	}
}

// updateBy is l op= r.
func (r *jqRun) updateBy(l, right jqFilter, op jqBinary) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return right(e, v, nil, func(y any, _ *jqPath) error {
			changed, err := r.update(l, e, v, func(old any, out jqOut) error {
				z, err := op(old, y)
				if err != nil {
					return err
				}
				return out(z, nil)
			}, nil)
			if err != nil {
				return err
			}
			return out(changed, p.lost())
		})
	}
}

// update changes every place that l finds in v: to the first result of f for
// what is there, or to fixed. Where f has no result the place is deleted.
func (r *jqRun) update(l jqFilter, e *jqEnv, v any, f func(old any, out jqOut) error, fixed *any) (any, error) {
	own := r.lent
	if r.lent = nil; own == nil {
		own = jqOwner{}
	}
	at, err := r.fold()
	if err != nil {
		return nil, err
	}
	defer r.leave(at)
	now := v
	var gone []any
	r.roots[at].v, r.roots[at+1].v, r.roots[at+2].v = now, &gone, own
	err = l(e, v, &jqPath{}, func(x any, xp *jqPath) error {
		if xp == jqBadPath {
			return r.fail("Invalid path expression with result %s", r.preview(x))
		}
		keys := xp.keys()
		if fixed != nil {
			var err error
			now, err = r.replace(now, keys, *fixed, own, at)
			return err
		}
		old, err := r.getpath(now, keys)
		if err != nil {
			return err
		}
		switch old.(type) {
		case *jqArray, *jqObject:
			if own[old] {
				clear(own) // f may keep it, so it must not change any more
			}
		}
		var made any
		found := false
		err = jqUntil(func(e *jqEnv, v any, p *jqPath, out jqOut) error { return f(v, out) }, e, old, nil,
			func(y any, _ *jqPath) (bool, error) { made, found = y, true; return false, nil })
		if err != nil {
			return err
		}
		if !found {
			gone = append(gone, newJqArray(keys...))
			return r.alloc(64)
		}
		now, err = r.replace(now, keys, made, own, at)
		return err
	})
	if err != nil || len(gone) == 0 {
		return now, err
	}
	return r.delpaths(now, gone)
}

// replace is one step of update: what it makes is pinned until the entry refers
// to it.
func (r *jqRun) replace(now any, keys []any, to any, own jqOwner, at int) (any, error) {
	r.extra = to
	r.pin()
	now, err := r.setpath(now, keys, to, own)
	r.unpin()
	r.roots[at].v = now
	return now, err
}
