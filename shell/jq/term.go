package jq

import (
	"cmp"
	"slices"

	"github.com/itchyny/gojq"
)

// term compiles one term and its suffixes.
func (c *compiler) term(t *gojq.Term) Filter {
	suffixes := t.SuffixList
	c.nest(len(suffixes))
	defer func() { c.depth-- }()
	optional := func() bool { // a question mark after an index suppresses the errors of that index only
		if len(suffixes) > 0 && suffixes[0].Optional {
			suffixes = suffixes[1:]
			return true
		}
		return false
	}
	var f Filter
	if t.Type == gojq.TermTypeIndex {
		f = c.index(identity, t.Index, optional())
	} else {
		f = c.plainTerm(t)
	}
	for len(suffixes) > 0 {
		s := suffixes[0]
		suffixes = suffixes[1:]
		switch {
		case s.Index != nil:
			f = c.index(f, s.Index, optional())
		case s.Iter:
			f = c.run.iterate(f, optional())
		case s.Optional:
			f = c.run.try(f, nil)
		}
	}
	return f
}

// plainTerm compiles a term without its suffixes.
func (c *compiler) plainTerm(t *gojq.Term) Filter {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return identity
	case gojq.TermTypeRecurse:
		return c.function(&gojq.Func{Name: "recurse"})
	case gojq.TermTypeNull:
		return constant(nil)
	case gojq.TermTypeTrue:
		return constant(true)
	case gojq.TermTypeFalse:
		return constant(false)
	case gojq.TermTypeFunc:
		return c.function(t.Func)
	case gojq.TermTypeObject:
		return c.object(t.Object)
	case gojq.TermTypeArray:
		return c.array(t.Array)
	case gojq.TermTypeNumber:
		v, ok := ParseNumber(t.Number)
		if !ok {
			c.fail("invalid number %s", t.Number)
		}
		return constant(v)
	case gojq.TermTypeUnary:
		return c.unary(t.Unary)
	case gojq.TermTypeFormat:
		if t.Str != nil {
			return c.text(t.Str, t.Format)
		}
		return c.run.format(t.Format)
	case gojq.TermTypeString:
		return c.text(t.Str, "")
	case gojq.TermTypeIf:
		return c.condition(t.If.Cond, t.If.Then, t.If.Elif, t.If.Else)
	case gojq.TermTypeTry:
		return c.run.try(c.query(t.Try.Body), c.optionalQuery(t.Try.Catch, nil))
	case gojq.TermTypeReduce:
		return c.reduce(t.Reduce)
	case gojq.TermTypeForeach:
		return c.foreach(t.Foreach)
	case gojq.TermTypeLabel:
		return c.label(t.Label)
	case gojq.TermTypeBreak:
		return c.breakOut(t.Break)
	}
	return c.query(t.Query)
}

// optionalQuery compiles q, if there is one.
func (c *compiler) optionalQuery(q *gojq.Query, otherwise Filter) Filter {
	if q == nil {
		return otherwise
	}
	return c.query(q)
}

func (c *compiler) unary(u *gojq.Unary) Filter {
	f := c.term(u.Term)
	if u.Op == gojq.OpAdd {
		return f
	}
	run := c.run
	return run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		return f(e, v, nil, func(x any, _ *valuePath) error {
			n, ok := floatOf(x)
			if !ok {
				return run.fail("%s cannot be negated", run.describe(x))
			}
			return out(-n, p.computed())
		})
	})
}

// text compiles a string, whose parts may be expressions. format is how those
// are converted; empty means as plain text.
func (c *compiler) text(s *gojq.String, format string) Filter {
	if s.Queries == nil {
		return constant(s.Str)
	}
	var parts []Filter
	for _, q := range s.Queries {
		f := c.query(q)
		if q.Term == nil || q.Term.Str == nil || q.Term.Type != gojq.TermTypeString {
			f = c.run.pipe(f, c.run.format(cmp.Or(format, "@text")))
		}
		parts = append(parts, f)
	}
	slices.Reverse(parts) // results of the last part vary slowest
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		return run.combine(parts, e, v, func(vals []any) error {
			size := 0
			for _, x := range vals {
				s, _ := x.(string)
				size += len(s)
			}
			run.Alloc(int64(size))
			text := make([]byte, 0, size)
			for _, x := range slices.Backward(vals) {
				s, _ := x.(string)
				text = append(text, s...)
			}
			return out(string(text), p.computed())
		})
	}
}

func (r *Run) pipe(f, g Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := r.Enter()
		err := f(e, v, p, func(x any, xp *valuePath) error {
			r.roots[at] = rootEntry{x, xp}
			return g(e, x, xp, out)
		})
		r.Leave(at)
		return err
	}
}

// array compiles [ … ].
func (c *compiler) array(a *gojq.Array) Filter {
	if a.Query == nil {
		return constant(NewArray())
	}
	f := c.query(a.Query)
	return func(e *scope, v any, p *valuePath, out emit) error {
		items, err := c.run.collect(f, e, v)
		if err != nil {
			return err
		}
		return out(NewArray(items...), p.computed())
	}
}

// object compiles { … }; each combination of keys and values is one result.
func (c *compiler) object(o *gojq.Object) Filter {
	var filters []Filter // of computed keys, and of values
	names := make([]*string, len(o.KeyVals))
	for i, kv := range o.KeyVals {
		name, key, val := c.keyVal(kv)
		if key != nil {
			filters = append(filters, c.run.objectKey(key))
		} else {
			names[i] = &name
		}
		filters = append(filters, val)
	}
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		return run.combine(filters, e, v, func(vals []any) error {
			run.Alloc(int64(64 + 40*len(vals)))
			made := NewObject(len(names))
			for _, name := range names {
				if name == nil {
					key := vals[0].(string)
					name, vals = &key, vals[1:]
				}
				made.Put(*name, vals[0])
				vals = vals[1:]
			}
			return out(made, p.computed())
		})
	}
}

// objectKey fails for keys that are not strings.
func (r *Run) objectKey(key Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		return key(e, v, nil, func(k any, _ *valuePath) error {
			if _, ok := k.(string); !ok {
				return r.fail("Object keys must be strings")
			}
			return out(k, nil)
		})
	}
}

// keyVal compiles one entry of an object; key is nil if it is the constant name. The
// value may be left out: {a} is {a: .a}.
func (c *compiler) keyVal(kv *gojq.ObjectKeyVal) (name string, key, val Filter) {
	var index *gojq.Index // of the value that is left out
	switch {
	case kv.Key != "" && kv.Key[0] == '$':
		if kv.Val == nil {
			return kv.Key[1:], nil, c.variable(kv.Key)
		}
		key = c.variable(kv.Key)
	case kv.Key != "":
		name, index = kv.Key, &gojq.Index{Name: kv.Key}
	case kv.KeyString != nil && kv.KeyString.Queries == nil:
		name, index = kv.KeyString.Str, &gojq.Index{Str: kv.KeyString}
	case kv.KeyString != nil:
		key, index = c.text(kv.KeyString, ""), &gojq.Index{Str: kv.KeyString}
	default:
		key = c.query(kv.KeyQuery)
	}
	if kv.Val != nil {
		return name, key, c.query(kv.Val)
	}
	if index == nil {
		c.fail("syntax error: a computed key needs a value")
	}
	return name, key, c.query(&gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: index}})
}

func (c *compiler) condition(cond, then *gojq.Query, elif []*gojq.IfElif, other *gojq.Query) Filter {
	c.nest(0) // each elif is a condition in a condition
	defer func() { c.depth-- }()
	test, yes := c.query(cond), c.query(then)
	var no Filter
	if len(elif) > 0 {
		no = c.condition(elif[0].Cond, elif[0].Then, elif[1:], other)
	} else {
		no = c.optionalQuery(other, identity)
	}
	return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		return test(e, v, nil, func(x any, _ *valuePath) error {
			if Truthy(x) {
				return yes(e, v, p, out)
			}
			return no(e, v, p, out)
		})
	})
}

// reduce keeps the last result of each step.
func (c *compiler) reduce(r *gojq.Reduce) Filter {
	source, start, b := c.query(r.Query), c.query(r.Start), c.patterns([]*gojq.Pattern{r.Pattern})
	update := c.query(r.Update)
	c.pop(len(b.names))
	run, owned := c.run, ownsState(r.Update)
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := run.enterFold()
		defer run.Leave(at)
		return start(e, v, nil, func(state any, _ *valuePath) error {
			var own owner
			if owned {
				own = owner{}
			}
			run.roots[at].v, run.roots[at+2].v = state, own
			err := source(e, v, nil, func(x any, _ *valuePath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *scope) error {
					run.step()
					var next any
					run.lent = own
					err := update(inner, state, nil, func(y any, _ *valuePath) error {
						next = y
						return nil
					})
					state = next
					run.roots[at].v = state
					return err
				})
			})
			if err != nil {
				return err
			}
			run.roots[at+1].v, run.roots[at+2].v = nil, nil
			return out(state, p.computed())
		})
	}
}

// enterFold adds entries for what reduce and foreach refer to: the state, the value
// of the source and the containers that belong to the state alone.
func (r *Run) enterFold() (at int) {
	at = r.Enter()
	r.Enter()
	r.Enter()
	return at
}

func (c *compiler) foreach(f *gojq.Foreach) Filter {
	source, start, b := c.query(f.Query), c.query(f.Start), c.patterns([]*gojq.Pattern{f.Pattern})
	update, extract := c.query(f.Update), c.optionalQuery(f.Extract, identity)
	c.pop(len(b.names))
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := run.enterFold()
		defer run.Leave(at)
		return start(e, v, nil, func(state any, _ *valuePath) error {
			run.roots[at].v = state
			return source(e, v, nil, func(x any, _ *valuePath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *scope) error {
					run.step()
					return update(inner, state, nil, func(y any, _ *valuePath) error {
						state = y
						run.roots[at].v = state
						return extract(inner, y, nil, func(z any, _ *valuePath) error { return out(z, p.computed()) })
					})
				})
			})
		})
	}
}

func (c *compiler) label(l *gojq.Label) Filter {
	c.push(scopeName{"*" + l.Ident, -1, nil})
	body := c.query(l.Body)
	c.pop(1)
	return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		mark := &breakError{}
		err := body(&scope{val: mark, up: e}, v, p, out)
		if err == error(mark) {
			return nil
		}
		return err
	})
}

func (c *compiler) breakOut(name string) Filter {
	n, hops := c.find("*"+name, -1)
	if n == nil {
		c.fail("$*label-%s is not defined", name[1:])
	}
	return func(e *scope, v any, p *valuePath, out emit) error { return e.hop(hops).val.(*breakError) }
}
