package jq

import (
	"math"
	"strings"

	"github.com/itchyny/gojq"
)

// operator compiles a binary operator.
func (c *compiler) operator(q *gojq.Query) (Filter, error) {
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
		return run.counted(func(e *scope, v any, p *valuePath, out emit) error {
			if err := l(e, v, p, out); err != nil {
				return err
			}
			return r(e, v, p, out)
		}), nil
	case gojq.OpAlt:
		return run.counted(run.alternative(l, r)), nil
	case gojq.OpAnd, gojq.OpOr:
		return run.counted(logic(l, r, q.Op == gojq.OpOr)), nil
	case gojq.OpAssign:
		return run.assign(l, r), nil
	case gojq.OpModify:
		return run.modify(l, r), nil
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return run.updateBy(l, r, run.binary(q.Op)), nil
	}
	op := run.binary(q.Op)
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := run.Enter()
		if err != nil {
			return err
		}
		err = r(e, v, nil, func(y any, _ *valuePath) error {
			run.roots[at].v = y
			return l(e, v, nil, func(x any, _ *valuePath) error {
				run.extra = x
				z, err := op(x, y)
				if err != nil {
					return err
				}
				return out(z, p.lost())
			})
		})
		run.Leave(at)
		return err
	}, nil
}

func logic(l, r Filter, or bool) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return l(e, v, nil, func(x any, _ *valuePath) error {
			if True(x) == or {
				return out(or, p.lost())
			}
			return r(e, v, nil, func(y any, _ *valuePath) error { return out(True(y), p.lost()) })
		})
	}
}

// alternative gives the results of l that are neither false nor null; if there
// are none, those of r. Errors of l count as nothing.
func (r *Run) alternative(l, other Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		found := false
		err := r.try(func(e *scope, v any, p *valuePath, out emit) error {
			return l(e, v, p, func(x any, xp *valuePath) error {
				if !True(x) {
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

type binaryFunc func(x, y any) (any, error)

func (r *Run) binary(op gojq.Operator) binaryFunc {
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
			if True(x) {
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
func (r *Run) cannot(x, y any, verb string) error {
	return r.fail("%s (%s) and %s (%s) cannot be %s", typeOf(x), r.preview(x), typeOf(y), r.preview(y), verb)
}

func (r *Run) add(x, y any) (any, error) {
	switch {
	case x == nil:
		return y, nil
	case y == nil:
		return x, nil
	}
	switch a := x.(type) {
	case float64, Big:
		n, _ := floatOf(a)
		if m, ok := floatOf(y); ok {
			return n + m, nil
		}
	case string:
		if b, ok := y.(string); ok {
			if err := r.Alloc(int64(len(a) + len(b))); err != nil {
				return nil, err
			}
			return a + b, nil
		}
	case *Array:
		if b, ok := y.(*Array); ok {
			cost := len(b.Items)
			if !a.tip {
				cost += 2 * len(a.Items)
			}
			if err := r.Alloc(16 * int64(cost)); err != nil {
				return nil, err
			}
			return a.with(b.Items), nil
		}
	case *Object:
		if b, ok := y.(*Object); ok {
			if err := r.Alloc(40 * int64(len(a.Keys)+len(b.Keys))); err != nil {
				return nil, err
			}
			sum := a.clone()
			for i, k := range b.Keys {
				sum.Put(k, b.Vals[i])
			}
			return sum, nil
		}
	}
	return nil, r.cannot(x, y, "added")
}

func (r *Run) subtract(x, y any) (any, error) {
	if a, ok := floatOf(x); ok {
		if b, ok := floatOf(y); ok {
			return a - b, nil
		}
	}
	a, okA := x.(*Array)
	b, okB := y.(*Array)
	if !okA || !okB {
		return nil, r.cannot(x, y, "subtracted")
	}
	var left []any
	for _, item := range a.Items {
		at, err := r.position(b.Items, item)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			left = append(left, item)
		}
	}
	return NewArray(left...), r.Alloc(16 * int64(len(left)))
}

// position finds an equal item.
func (r *Run) position(items []any, item any) (int, error) {
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

func (r *Run) multiply(x, y any) (any, error) {
	a, okA := floatOf(x)
	b, okB := floatOf(y)
	if okA && okB {
		return a * b, nil
	}
	if s, ok := x.(string); ok && okB {
		return r.repeatText(s, b)
	}
	if s, ok := y.(string); ok && okA {
		return r.repeatText(s, a)
	}
	if p, ok := x.(*Object); ok {
		if q, ok := y.(*Object); ok {
			return r.merge(p, q)
		}
	}
	return nil, r.cannot(x, y, "multiplied")
}

// repeatText is s n times; n of zero or less gives null.
func (r *Run) repeatText(s string, n float64) (any, error) {
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
	if err := r.Alloc(times * int64(len(s))); err != nil {
		return nil, err
	}
	return strings.Repeat(s, int(times)), nil
}

// merge adds objects inside of objects.
func (r *Run) merge(x, y *Object) (any, error) {
	at, err := r.invoke()
	if err != nil {
		return nil, err
	}
	defer r.returned(at)
	r.Pin()
	defer r.Unpin()
	if err := r.Alloc(40 * int64(len(x.Keys)+len(y.Keys))); err != nil {
		return nil, err
	}
	sum := x.clone()
	for i, k := range y.Keys {
		item := y.Vals[i]
		old, _ := sum.get(k)
		if p, ok := old.(*Object); ok {
			if q, ok := item.(*Object); ok {
				var err error
				if item, err = r.merge(p, q); err != nil {
					return nil, err
				}
			}
		}
		sum.Put(k, item)
	}
	return sum, nil
}

func (r *Run) divide(x, y any) (any, error) {
	a, okA := floatOf(x)
	b, okB := floatOf(y)
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

func (r *Run) split(s, sep string) (any, error) {
	if s == "" {
		return NewArray(), nil
	}
	n := strings.Count(s, sep) + 1
	if err := r.Alloc(48*int64(n) + int64(len(s))); err != nil {
		return nil, err
	}
	items := make([]any, 0, n)
	for part := range strings.SplitSeq(s, sep) {
		items = append(items, clonePart(s, part))
	}
	return NewArray(items...), nil
}

// findPart is a part of a text as a value of its own. A small part would keep all
// of a large text in memory, so it is copied.
func clonePart(whole, part string) string {
	if len(whole) > longText && 2*len(part) < len(whole) {
		return strings.Clone(part)
	}
	return part
}

func (r *Run) modulo(x, y any) (any, error) {
	a, okA := floatOf(x)
	b, okB := floatOf(y)
	if !okA || !okB {
		return nil, r.cannot(x, y, "divided (remainder)")
	}
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN(), nil
	}
	m := toInt64(b)
	if m == 0 {
		return nil, r.cannot(x, y, "divided (remainder) because the divisor is zero")
	}
	if m < 0 {
		m = -max(m, -math.MaxInt64)
	}
	return float64(toInt64(a) % m), nil
}

func toInt64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// assign is l = r: for each value of r, all places of l get it.
func (r *Run) assign(l, right Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return right(e, v, nil, func(x any, _ *valuePath) error {
			changed, err := r.update(l, e, v, func(any, emit) error { return nil }, &x)
			if err != nil {
				return err
			}
			return out(changed, p.lost())
		})
	}
}

// modify is l |= f.
func (r *Run) modify(l, f Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		changed, err := r.update(l, e, v, func(old any, out emit) error { return f(e, old, nil, out) }, nil)
		if err != nil {
			return err
		}
		return out(changed, p.lost())
	}
}

// updateBy is l op= r.
func (r *Run) updateBy(l, right Filter, op binaryFunc) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return right(e, v, nil, func(y any, _ *valuePath) error {
			changed, err := r.update(l, e, v, func(old any, out emit) error {
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
func (r *Run) update(l Filter, e *scope, v any, f func(old any, out emit) error, fixed *any) (any, error) {
	own := r.lent
	if r.lent = nil; own == nil {
		own = owner{}
	}
	at, err := r.fold()
	if err != nil {
		return nil, err
	}
	defer r.Leave(at)
	now := v
	var gone []any
	r.roots[at].v, r.roots[at+1].v, r.roots[at+2].v = now, &gone, own
	err = l(e, v, &valuePath{}, func(x any, xp *valuePath) error {
		if xp == badPath {
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
		case *Array, *Object:
			if own[old] {
				clear(own) // f may keep it, so it must not change any more
			}
		}
		var made any
		found := false
		err = takeUntil(func(e *scope, v any, p *valuePath, out emit) error { return f(v, out) }, e, old, nil,
			func(y any, _ *valuePath) (bool, error) { made, found = y, true; return false, nil })
		if err != nil {
			return err
		}
		if !found {
			gone = append(gone, NewArray(keys...))
			return r.Alloc(64)
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
func (r *Run) replace(now any, keys []any, to any, own owner, at int) (any, error) {
	r.extra = to
	r.Pin()
	now, err := r.setpath(now, keys, to, own)
	r.Unpin()
	r.roots[at].v = now
	return now, err
}
