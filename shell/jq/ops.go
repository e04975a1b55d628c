package jq

import (
	"math"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// operator compiles a binary operator.
func (c *compiler) operator(q *gojq.Query) Filter {
	l, r, run := c.query(q.Left), c.query(q.Right), c.run
	switch q.Op {
	case gojq.OpPipe:
		return run.pipe(l, r)
	case gojq.OpComma:
		return run.counted(func(e *scope, v any, p *valuePath, out emit) error {
			if err := l(e, v, p, out); err != nil {
				return err
			}
			return r(e, v, p, out)
		})
	case gojq.OpAlt:
		return run.counted(run.alternative(l, r))
	case gojq.OpAnd, gojq.OpOr:
		return run.counted(logic(l, r, q.Op == gojq.OpOr))
	case gojq.OpAssign:
		return run.assign(l, r)
	case gojq.OpModify:
		return run.modify(l, r)
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return run.updateBy(l, r, run.binary(q.Op))
	}
	op := run.binary(q.Op)
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := run.Enter()
		err := r(e, v, nil, func(y any, _ *valuePath) error {
			run.roots[at].v = y
			return l(e, v, nil, func(x any, _ *valuePath) error {
				run.extra = x
				z, err := op(x, y)
				if err != nil {
					return err
				}
				return out(z, p.computed())
			})
		})
		run.Leave(at)
		return err
	}
}

func logic(l, r Filter, or bool) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return l(e, v, nil, func(x any, _ *valuePath) error {
			if Truthy(x) == or {
				return out(or, p.computed())
			}
			return r(e, v, nil, func(y any, _ *valuePath) error { return out(Truthy(y), p.computed()) })
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
				if !Truthy(x) {
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
			if Truthy(x) {
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
	return func(x, y any) (any, error) { return holds(r.compare(x, y)), nil }
}

// cannot is the error of an operator with operands that do not fit.
func (r *Run) cannot(x, y any, verb string) error {
	return r.fail("%s and %s cannot be %s", r.describe(x), r.describe(y), verb)
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
			r.Alloc(int64(len(a) + len(b)))
			return a + b, nil
		}
	case *Array:
		if b, ok := y.(*Array); ok {
			cost := len(b.Items)
			if !a.growable {
				cost += 2 * len(a.Items)
			}
			r.Alloc(16 * int64(cost))
			return a.with(b.Items), nil
		}
	case *Object:
		if b, ok := y.(*Object); ok {
			r.Alloc(40 * int64(len(a.Keys)+len(b.Keys)))
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
		if !slices.ContainsFunc(b.Items, func(other any) bool { return r.compare(other, item) == 0 }) {
			left = append(left, item)
		}
	}
	r.Alloc(16 * int64(len(left)))
	return NewArray(left...), nil
}

func (r *Run) multiply(x, y any) (any, error) {
	a, okA := floatOf(x)
	b, okB := floatOf(y)
	if okA && okB {
		return a * b, nil
	}
	if s, ok := x.(string); ok && okB {
		return r.repeatText(s, b), nil
	}
	if s, ok := y.(string); ok && okA {
		return r.repeatText(s, a), nil
	}
	if p, ok := x.(*Object); ok {
		if q, ok := y.(*Object); ok {
			return r.merge(p, q), nil
		}
	}
	return nil, r.cannot(x, y, "multiplied")
}

// repeatText is s n times; n of zero or less gives null.
func (r *Run) repeatText(s string, n float64) any {
	if n <= 0 || math.IsNaN(n) {
		return nil
	}
	times := max(1, int64(math.Ceil(min(n, 1<<40)-0.5)))
	if n < 1 {
		times = 1
	}
	if len(s) > 0 && times > (1<<50)/int64(len(s)) {
		times = (1 << 50) / int64(len(s))
	}
	r.Alloc(times * int64(len(s)))
	return strings.Repeat(s, int(times))
}

// merge adds objects inside of objects.
func (r *Run) merge(x, y *Object) *Object {
	at := r.invoke()
	defer r.returned(at)
	r.Pin()
	defer r.Unpin()
	r.Alloc(40 * int64(len(x.Keys)+len(y.Keys)))
	sum := x.clone()
	for i, k := range y.Keys {
		item := y.Vals[i]
		old, _ := sum.get(k)
		if p, ok := old.(*Object); ok {
			if q, ok := item.(*Object); ok {
				item = r.merge(p, q)
			}
		}
		sum.Put(k, item)
	}
	return sum
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
		return r.split(s, sep), nil
	}
	return nil, r.cannot(x, y, "divided")
}

func (r *Run) split(s, sep string) *Array {
	if s == "" {
		return NewArray()
	}
	n := strings.Count(s, sep) + 1
	r.Alloc(48*int64(n) + int64(len(s)))
	items := make([]any, 0, n)
	for part := range strings.SplitSeq(s, sep) {
		items = append(items, clonePart(s, part))
	}
	return NewArray(items...)
}

// clonePart returns a part of a text as a value of its own. A small part would keep all
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
			return out(changed, p.computed())
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
		return out(changed, p.computed())
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
			return out(changed, p.computed())
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
	at := r.enterFold()
	defer r.Leave(at)
	now := v
	var deleted []any
	r.roots[at].v, r.roots[at+1].v, r.roots[at+2].v = now, &deleted, own
	err := l(e, v, &valuePath{}, func(x any, xp *valuePath) error {
		if xp == noPath {
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
		if isContainer(old) && own[old] {
			clear(own) // f may keep it, so it must not change any more
		}
		var made any
		found := false
		err = takeUntil(func(e *scope, v any, p *valuePath, out emit) error { return f(v, out) }, e, old, nil,
			func(y any, _ *valuePath) (bool, error) { made, found = y, true; return false, nil })
		if err != nil {
			return err
		}
		if !found {
			deleted = append(deleted, NewArray(keys...))
			r.Alloc(64)
			return nil
		}
		now, err = r.replace(now, keys, made, own, at)
		return err
	})
	if err != nil || len(deleted) == 0 {
		return now, err
	}
	return r.delpaths(now, deleted)
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
