package jq

import (
	"fmt"

	"github.com/itchyny/gojq"
)

// term compiles one term and its suffixes.
func (c *compiler) term(t *gojq.Term) (Filter, error) {
	suffixes := t.SuffixList
	if c.depth++; c.depth+len(suffixes) > maxNesting {
		return nil, errNested
	}
	defer func() { c.depth-- }()
	lax := func() bool { // a question mark after an index forgives only that index
		if len(suffixes) > 0 && suffixes[0].Optional {
			suffixes = suffixes[1:]
			return true
		}
		return false
	}
	var f Filter
	var err error
	if t.Type == gojq.TermTypeIndex {
		f, err = c.index(identity, t.Index, lax())
	} else {
		f, err = c.plainTerm(t)
	}
	for len(suffixes) > 0 && err == nil {
		s := suffixes[0]
		suffixes = suffixes[1:]
		switch {
		case s.Index != nil:
			f, err = c.index(f, s.Index, lax())
		case s.Iter:
			f = c.run.iterate(f, lax())
		case s.Optional:
			f = c.run.try(f, nil)
		}
	}
	return f, err
}

func (c *compiler) plainTerm(t *gojq.Term) (Filter, error) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return identity, nil
	case gojq.TermTypeRecurse:
		return c.function(&gojq.Func{Name: "recurse"})
	case gojq.TermTypeNull:
		return constant(nil), nil
	case gojq.TermTypeTrue:
		return constant(true), nil
	case gojq.TermTypeFalse:
		return constant(false), nil
	case gojq.TermTypeFunc:
		return c.function(t.Func)
	case gojq.TermTypeObject:
		return c.object(t.Object)
	case gojq.TermTypeArray:
		return c.array(t.Array)
	case gojq.TermTypeNumber:
		v, ok := ParseNumber(t.Number)
		if !ok {
			return nil, fmt.Errorf("invalid number %s", t.Number)
		}
		return constant(v), nil
	case gojq.TermTypeUnary:
		return c.unary(t.Unary)
	case gojq.TermTypeFormat:
		if t.Str != nil {
			return c.text(t.Str, t.Format)
		}
		return c.run.format(t.Format), nil
	case gojq.TermTypeString:
		return c.text(t.Str, "")
	case gojq.TermTypeIf:
		return c.condition(t.If.Cond, t.If.Then, t.If.Elif, t.If.Else)
	case gojq.TermTypeTry:
		return c.tryCatch(t.Try)
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

func (c *compiler) unary(u *gojq.Unary) (Filter, error) {
	f, err := c.term(u.Term)
	if err != nil || u.Op == gojq.OpAdd {
		return f, err
	}
	run := c.run
	return run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		return f(e, v, nil, func(x any, _ *valuePath) error {
			n, ok := floatOf(x)
			if !ok {
				return run.fail("%s (%s) cannot be negated", typeOf(x), run.preview(x))
			}
			return out(-n, p.lost())
		})
	}), nil
}

// text compiles a string, whose parts may be expressions. format is how those
// are shown; empty means as plain text.
func (c *compiler) text(s *gojq.String, format string) (Filter, error) {
	if s.Queries == nil {
		return constant(s.Str), nil
	}
	if format == "" {
		format = "@text"
	}
	var parts []Filter
	for _, q := range s.Queries {
		f, err := c.query(q)
		if err != nil {
			return nil, err
		}
		if q.Term == nil || q.Term.Str == nil || q.Term.Type != gojq.TermTypeString {
			f = c.run.pipe(f, c.run.format(format))
		}
		parts = append(parts, f)
	}
	run := c.run
	var at func(i int, tail string, e *scope, v any, out func(string) error) error
	at = func(i int, tail string, e *scope, v any, out func(string) error) error {
		if i < 0 {
			return out(tail)
		}
		place, err := run.Enter()
		if err != nil {
			return err
		}
		err = parts[i](e, v, nil, func(x any, _ *valuePath) error {
			s, _ := x.(string)
			if err := run.Alloc(int64(len(s) + len(tail))); err != nil {
				return err
			}
			longer := s + tail
			run.roots[place].v = longer
			return at(i-1, longer, e, v, out)
		})
		run.Leave(place)
		return err
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		return at(len(parts)-1, "", e, v, func(s string) error { return out(s, p.lost()) })
	}, nil
}

func (r *Run) pipe(f, g Filter) Filter {
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := r.Enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, func(x any, xp *valuePath) error {
			r.roots[at] = rootEntry{x, xp}
			return g(e, x, xp, out)
		})
		r.Leave(at)
		return err
	}
}

// array compiles [ … ].
func (c *compiler) array(a *gojq.Array) (Filter, error) {
	if a.Query == nil {
		return constant(NewArray()), nil
	}
	f, err := c.query(a.Query)
	if err != nil {
		return nil, err
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		items, err := c.run.collect(f, e, v)
		if err != nil {
			return err
		}
		return out(NewArray(items...), p.lost())
	}, nil
}

// object compiles { … }; each combination of keys and values is one result.
func (c *compiler) object(o *gojq.Object) (Filter, error) {
	type entry struct{ key, val Filter }
	entries := make([]entry, len(o.KeyVals))
	for i, kv := range o.KeyVals {
		key, val, err := c.keyVal(kv)
		if err != nil {
			return nil, err
		}
		entries[i] = entry{key, val}
	}
	run := c.run
	var at func(i int, made *Object, e *scope, v any, out func(*Object) error) error
	at = func(i int, made *Object, e *scope, v any, out func(*Object) error) error {
		if i == len(entries) {
			return out(made)
		}
		place, err := run.Enter()
		if err != nil {
			return err
		}
		err = entries[i].key(e, v, nil, func(k any, _ *valuePath) error {
			name, ok := k.(string)
			if !ok {
				return run.fail("Object keys must be strings")
			}
			return entries[i].val(e, v, nil, func(x any, _ *valuePath) error {
				run.extra = x
				if err := run.Alloc(int64(40 * (len(made.Keys) + 1))); err != nil {
					return err
				}
				next := made.clone()
				next.Put(name, x)
				run.roots[place].v = next
				return at(i+1, next, e, v, out)
			})
		})
		run.Leave(place)
		return err
	}
	return func(e *scope, v any, p *valuePath, out emit) error {
		if err := run.Alloc(int64(64 + 40*len(entries))); err != nil {
			return err
		}
		return at(0, NewObject(len(entries)), e, v, func(o *Object) error { return out(o, p.lost()) })
	}, nil
}

func (c *compiler) keyVal(kv *gojq.ObjectKeyVal) (key, val Filter, err error) {
	var short *gojq.Query // the value if none is written
	switch {
	case kv.Key != "" && kv.Key[0] == '$':
		key = constant(kv.Key[1:])
		if kv.Val == nil {
			val, err = c.variable(kv.Key)
			return key, val, err
		}
		key, err = c.variable(kv.Key)
	case kv.Key != "":
		key = constant(kv.Key)
		short = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Name: kv.Key}}}
	case kv.KeyString != nil:
		key, err = c.text(kv.KeyString, "")
		short = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Str: kv.KeyString}}}
	default:
		key, err = c.query(kv.KeyQuery)
	}
	if err != nil {
		return nil, nil, err
	}
	if kv.Val != nil {
		short = kv.Val
	}
	if short == nil {
		return nil, nil, fmt.Errorf("syntax error: a computed key needs a value")
	}
	val, err = c.query(short)
	return key, val, err
}

func (c *compiler) condition(cond, then *gojq.Query, elif []*gojq.IfElif, other *gojq.Query) (Filter, error) {
	if c.depth++; c.depth > maxNesting { // each elif is a condition in a condition
		return nil, errNested
	}
	defer func() { c.depth-- }()
	test, err := c.query(cond)
	if err != nil {
		return nil, err
	}
	yes, err := c.query(then)
	if err != nil {
		return nil, err
	}
	no := Filter(identity)
	switch {
	case len(elif) > 0:
		no, err = c.condition(elif[0].Cond, elif[0].Then, elif[1:], other)
	case other != nil:
		no, err = c.query(other)
	}
	if err != nil {
		return nil, err
	}
	return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		return test(e, v, nil, func(x any, _ *valuePath) error {
			if True(x) {
				return yes(e, v, p, out)
			}
			return no(e, v, p, out)
		})
	}), nil
}

func (c *compiler) tryCatch(t *gojq.Try) (Filter, error) {
	body, err := c.query(t.Body)
	if err != nil || t.Catch == nil {
		return c.run.try(body, nil), err
	}
	catch, err := c.query(t.Catch)
	return c.run.try(body, catch), err
}

// reduce keeps the last result of each step.
func (c *compiler) reduce(r *gojq.Reduce) (Filter, error) {
	source, start, b, err := c.fold(r.Query, r.Start, r.Pattern)
	if err != nil {
		return nil, err
	}
	update, err := c.query(r.Update)
	c.pop(len(b.names))
	if err != nil {
		return nil, err
	}
	run, alone := c.run, ownsState(r.Update)
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := run.fold()
		if err != nil {
			return err
		}
		defer run.Leave(at)
		return start(e, v, nil, func(state any, _ *valuePath) error {
			var own owner
			if alone {
				own = owner{}
			}
			run.roots[at].v, run.roots[at+2].v = state, own
			err := source(e, v, nil, func(x any, _ *valuePath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *scope) error {
					if err := run.step(); err != nil {
						return err
					}
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
			return out(state, p.lost())
		})
	}, nil
}

// fold makes entries for what reduce and foreach refer to: the state, the value
// of the source and the containers that belong to the state alone.
func (r *Run) fold() (at int, err error) {
	if at, err = r.Enter(); err == nil {
		_, err = r.Enter()
	}
	if err == nil {
		_, err = r.Enter()
	}
	return at, err
}

// fold compiles what reduce and foreach share; the pattern's variables stay in
// scope.
func (c *compiler) fold(q, init *gojq.Query, p *gojq.Pattern) (source, start Filter, b *binder, err error) {
	if source, err = c.query(q); err != nil {
		return nil, nil, nil, err
	}
	if start, err = c.query(init); err != nil {
		return nil, nil, nil, err
	}
	if b, err = c.patterns([]*gojq.Pattern{p}); err != nil {
		return nil, nil, nil, err
	}
	for _, name := range b.names {
		c.push(scopeName{name, -1, nil})
	}
	return source, start, b, nil
}

func (c *compiler) foreach(f *gojq.Foreach) (Filter, error) {
	source, start, b, err := c.fold(f.Query, f.Start, f.Pattern)
	if err != nil {
		return nil, err
	}
	defer c.pop(len(b.names))
	update, err := c.query(f.Update)
	if err != nil {
		return nil, err
	}
	extract := Filter(identity)
	if f.Extract != nil {
		if extract, err = c.query(f.Extract); err != nil {
			return nil, err
		}
	}
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := run.fold()
		if err != nil {
			return err
		}
		defer run.Leave(at)
		return start(e, v, nil, func(state any, _ *valuePath) error {
			run.roots[at].v = state
			return source(e, v, nil, func(x any, _ *valuePath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *scope) error {
					if err := run.step(); err != nil {
						return err
					}
					return update(inner, state, nil, func(y any, _ *valuePath) error {
						state = y
						run.roots[at].v = state
						return extract(inner, y, nil, func(z any, _ *valuePath) error { return out(z, p.lost()) })
					})
				})
			})
		})
	}, nil
}

func (c *compiler) label(l *gojq.Label) (Filter, error) {
	c.push(scopeName{"*" + l.Ident, -1, nil})
	body, err := c.query(l.Body)
	c.pop(1)
	if err != nil {
		return nil, err
	}
	return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
		mark := &Break{}
		err := body(&scope{val: mark, up: e}, v, p, out)
		if err == error(mark) {
			return nil
		}
		return err
	}), nil
}

func (c *compiler) breakOut(name string) (Filter, error) {
	n, hops := c.find("*"+name, -1)
	if n == nil {
		return nil, fmt.Errorf("$*label-%s is not defined", name[1:])
	}
	return func(e *scope, v any, p *valuePath, out emit) error { return e.hop(hops).val.(*Break) }, nil
}
