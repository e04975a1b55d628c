package command

import (
	"fmt"

	"github.com/itchyny/gojq"
)

// term compiles one term and its suffixes.
func (c *jqCompiler) term(t *gojq.Term) (jqFilter, error) {
	suffixes := t.SuffixList
	if c.depth++; c.depth+len(suffixes) > jqMaxNesting {
		return nil, errJqNested
	}
	defer func() { c.depth-- }()
	lax := func() bool { // a question mark after an index forgives only that index
		if len(suffixes) > 0 && suffixes[0].Optional {
			suffixes = suffixes[1:]
			return true
		}
		return false
	}
	var f jqFilter
	var err error
	if t.Type == gojq.TermTypeIndex {
		f, err = c.index(jqIdentity, t.Index, lax())
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

func (c *jqCompiler) plainTerm(t *gojq.Term) (jqFilter, error) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return jqIdentity, nil
	case gojq.TermTypeRecurse:
		return c.function(&gojq.Func{Name: "recurse"})
	case gojq.TermTypeNull:
		return jqConst(nil), nil
	case gojq.TermTypeTrue:
		return jqConst(true), nil
	case gojq.TermTypeFalse:
		return jqConst(false), nil
	case gojq.TermTypeFunc:
		return c.function(t.Func)
	case gojq.TermTypeObject:
		return c.object(t.Object)
	case gojq.TermTypeArray:
		return c.array(t.Array)
	case gojq.TermTypeNumber:
		v, ok := parseJqNumber(t.Number)
		if !ok {
			return nil, fmt.Errorf("invalid number %s", t.Number)
		}
		return jqConst(v), nil
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

func (c *jqCompiler) unary(u *gojq.Unary) (jqFilter, error) {
	f, err := c.term(u.Term)
	if err != nil || u.Op == gojq.OpAdd {
		return f, err
	}
	run := c.run
	return run.counted(func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return f(e, v, nil, func(x any, _ *jqPath) error {
			n, ok := jqFloat(x)
			if !ok {
				return run.fail("%s (%s) cannot be negated", jqType(x), run.preview(x))
			}
			return out(-n, p.lost())
		})
	}), nil
}

// text compiles a string, whose parts may be expressions. format is how those
// are shown; empty means as plain text.
func (c *jqCompiler) text(s *gojq.String, format string) (jqFilter, error) {
	if s.Queries == nil {
		return jqConst(s.Str), nil
	}
	if format == "" {
		format = "@text"
	}
	var parts []jqFilter
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
	var at func(i int, tail string, e *jqEnv, v any, out func(string) error) error
	at = func(i int, tail string, e *jqEnv, v any, out func(string) error) error {
		if i < 0 {
			return out(tail)
		}
		place, err := run.enter()
		if err != nil {
			return err
		}
		err = parts[i](e, v, nil, func(x any, _ *jqPath) error {
			s, _ := x.(string)
			if err := run.alloc(int64(len(s) + len(tail))); err != nil {
				return err
			}
			longer := s + tail
			run.roots[place].v = longer
			return at(i-1, longer, e, v, out)
		})
		run.leave(place)
		return err
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return at(len(parts)-1, "", e, v, func(s string) error { return out(s, p.lost()) })
	}, nil
}

func (r *jqRun) pipe(f, g jqFilter) jqFilter {
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := r.enter()
		if err != nil {
			return err
		}
		err = f(e, v, p, func(x any, xp *jqPath) error {
			r.roots[at] = jqRoot{x, xp}
			return g(e, x, xp, out)
		})
		r.leave(at)
		return err
	}
}

// array compiles [ … ].
func (c *jqCompiler) array(a *gojq.Array) (jqFilter, error) {
	if a.Query == nil {
		return jqConst(newJqArray()), nil
	}
	f, err := c.query(a.Query)
	if err != nil {
		return nil, err
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		items, err := c.run.collect(f, e, v)
		if err != nil {
			return err
		}
		return out(newJqArray(items...), p.lost())
	}, nil
}

// object compiles { … }; each combination of keys and values is one result.
func (c *jqCompiler) object(o *gojq.Object) (jqFilter, error) {
	type entry struct{ key, val jqFilter }
	entries := make([]entry, len(o.KeyVals))
	for i, kv := range o.KeyVals {
		key, val, err := c.keyVal(kv)
		if err != nil {
			return nil, err
		}
		entries[i] = entry{key, val}
	}
	run := c.run
	var at func(i int, made *jqObject, e *jqEnv, v any, out func(*jqObject) error) error
	at = func(i int, made *jqObject, e *jqEnv, v any, out func(*jqObject) error) error {
		if i == len(entries) {
			return out(made)
		}
		place, err := run.enter()
		if err != nil {
			return err
		}
		err = entries[i].key(e, v, nil, func(k any, _ *jqPath) error {
			name, ok := k.(string)
			if !ok {
				return run.fail("Object keys must be strings")
			}
			return entries[i].val(e, v, nil, func(x any, _ *jqPath) error {
				run.extra = x
				if err := run.alloc(int64(40 * (len(made.keys) + 1))); err != nil {
					return err
				}
				next := made.clone()
				next.put(name, x)
				run.roots[place].v = next
				return at(i+1, next, e, v, out)
			})
		})
		run.leave(place)
		return err
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		if err := run.alloc(int64(64 + 40*len(entries))); err != nil {
			return err
		}
		return at(0, newJqObject(len(entries)), e, v, func(o *jqObject) error { return out(o, p.lost()) })
	}, nil
}

func (c *jqCompiler) keyVal(kv *gojq.ObjectKeyVal) (key, val jqFilter, err error) {
	var short *gojq.Query // the value if none is written
	switch {
	case kv.Key != "" && kv.Key[0] == '$':
		key = jqConst(kv.Key[1:])
		if kv.Val == nil {
			val, err = c.variable(kv.Key)
			return key, val, err
		}
		key, err = c.variable(kv.Key)
	case kv.Key != "":
		key = jqConst(kv.Key)
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

func (c *jqCompiler) condition(cond, then *gojq.Query, elif []*gojq.IfElif, other *gojq.Query) (jqFilter, error) {
	if c.depth++; c.depth > jqMaxNesting { // each elif is a condition in a condition
		return nil, errJqNested
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
	no := jqFilter(jqIdentity)
	switch {
	case len(elif) > 0:
		no, err = c.condition(elif[0].Cond, elif[0].Then, elif[1:], other)
	case other != nil:
		no, err = c.query(other)
	}
	if err != nil {
		return nil, err
	}
	return c.run.counted(func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		return test(e, v, nil, func(x any, _ *jqPath) error {
			if jqTrue(x) {
				return yes(e, v, p, out)
			}
			return no(e, v, p, out)
		})
	}), nil
}

func (c *jqCompiler) tryCatch(t *gojq.Try) (jqFilter, error) {
	body, err := c.query(t.Body)
	if err != nil || t.Catch == nil {
		return c.run.try(body, nil), err
	}
	catch, err := c.query(t.Catch)
	return c.run.try(body, catch), err
}

// reduce keeps the last result of each step.
func (c *jqCompiler) reduce(r *gojq.Reduce) (jqFilter, error) {
	source, start, b, err := c.fold(r.Query, r.Start, r.Pattern)
	if err != nil {
		return nil, err
	}
	update, err := c.query(r.Update)
	c.pop(len(b.names))
	if err != nil {
		return nil, err
	}
	run, alone := c.run, jqOwnsState(r.Update)
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := run.fold()
		if err != nil {
			return err
		}
		defer run.leave(at)
		return start(e, v, nil, func(state any, _ *jqPath) error {
			var own jqOwner
			if alone {
				own = jqOwner{}
			}
			run.roots[at].v, run.roots[at+2].v = state, own
			err := source(e, v, nil, func(x any, _ *jqPath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *jqEnv) error {
					if err := run.step(); err != nil {
						return err
					}
					var next any
					run.lent = own
					err := update(inner, state, nil, func(y any, _ *jqPath) error {
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
func (r *jqRun) fold() (at int, err error) {
	if at, err = r.enter(); err == nil {
		_, err = r.enter()
	}
	if err == nil {
		_, err = r.enter()
	}
	return at, err
}

// fold compiles what reduce and foreach share; the pattern's variables stay in
// scope.
func (c *jqCompiler) fold(q, init *gojq.Query, p *gojq.Pattern) (source, start jqFilter, b *jqBinder, err error) {
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
		c.push(jqName{name, -1, nil})
	}
	return source, start, b, nil
}

func (c *jqCompiler) foreach(f *gojq.Foreach) (jqFilter, error) {
	source, start, b, err := c.fold(f.Query, f.Start, f.Pattern)
	if err != nil {
		return nil, err
	}
	defer c.pop(len(b.names))
	update, err := c.query(f.Update)
	if err != nil {
		return nil, err
	}
	extract := jqFilter(jqIdentity)
	if f.Extract != nil {
		if extract, err = c.query(f.Extract); err != nil {
			return nil, err
		}
	}
	run := c.run
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		at, err := run.fold()
		if err != nil {
			return err
		}
		defer run.leave(at)
		return start(e, v, nil, func(state any, _ *jqPath) error {
			run.roots[at].v = state
			return source(e, v, nil, func(x any, _ *jqPath) error {
				run.roots[at+1].v = x
				return b.each(e, v, x, func(inner *jqEnv) error {
					if err := run.step(); err != nil {
						return err
					}
					return update(inner, state, nil, func(y any, _ *jqPath) error {
						state = y
						run.roots[at].v = state
						return extract(inner, y, nil, func(z any, _ *jqPath) error { return out(z, p.lost()) })
					})
				})
			})
		})
	}, nil
}

func (c *jqCompiler) label(l *gojq.Label) (jqFilter, error) {
	c.push(jqName{"*" + l.Ident, -1, nil})
	body, err := c.query(l.Body)
	c.pop(1)
	if err != nil {
		return nil, err
	}
	return c.run.counted(func(e *jqEnv, v any, p *jqPath, out jqOut) error {
		mark := &jqBreak{}
		err := body(&jqEnv{val: mark, up: e}, v, p, out)
		if err == error(mark) {
			return nil
		}
		return err
	}), nil
}

func (c *jqCompiler) breakOut(name string) (jqFilter, error) {
	n, hops := c.find("*"+name, -1)
	if n == nil {
		return nil, fmt.Errorf("$*label-%s is not defined", name[1:])
	}
	return func(e *jqEnv, v any, p *jqPath, out jqOut) error { return e.hop(hops).val.(*jqBreak) }, nil
}
