package jq

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// jq programs are parsed by gojq and turned into Go functions here. Its own
// evaluator is not used: it sorts the keys of objects, where jq keeps their
// order, and it can neither be metered nor stopped inside of an operation.

// A Filter calls out with each of its results for the input v. p is where v
// was found, if somebody wants paths; else nil.
type Filter func(e *scope, v any, p *valuePath, out emit) error

type emit func(v any, p *valuePath) error

// A scope is one variable, closure or function, and what surrounds it. Names
// were turned into distances when the program was compiled.
type scope struct {
	val any
	fn  Filter // a closure, to be called with env
	env *scope
	up  *scope
}

func (e *scope) hop(n int) *scope {
	for ; n > 0; n-- {
		e = e.up
	}
	return e
}

// A Definition is a function of the program.
type Definition struct {
	params []string
	body   Filter
	home   *scope // of a function that belongs to no scope
}

// A scopeName is a name in scope; each has a place in the scope chain.
type scopeName struct {
	name  string // "$x" for variables, "*x" for labels
	arity int
	def   *Definition // nil for variables, closures and labels
}

type compiler struct {
	run   *Run
	scope []scopeName
	depth int
	extra map[string]*Definition // functions of the prelude that were needed
}

func (c *compiler) push(n scopeName) { c.scope = append(c.scope, n) }
func (c *compiler) pop(n int)        { c.scope = c.scope[:len(c.scope)-n] }

// find returns how far away a name is.
func (c *compiler) find(name string, arity int) (*scopeName, int) {
	for i := len(c.scope) - 1; i >= 0; i-- {
		if n := &c.scope[i]; n.name == name && n.arity == arity {
			return n, len(c.scope) - 1 - i
		}
	}
	return nil, 0
}

// maxNesting is how deep the text of a program may nest.
const maxNesting = 4000

var errNested = errors.New("the program is nested too deeply")

// query compiles any expression.
func (c *compiler) query(q *gojq.Query) (Filter, error) {
	if c.depth++; c.depth > maxNesting {
		return nil, errNested
	}
	defer func() { c.depth-- }()
	if len(q.Imports) > 0 {
		return nil, errors.New("modules cannot be loaded here")
	}
	if len(q.FuncDefs) > 0 {
		return c.definitions(q)
	}
	if q.Term != nil {
		return c.term(q.Term)
	}
	if q.Right == nil {
		return identity, nil
	}
	if len(q.Patterns) > 0 {
		return c.bind(q)
	}
	return c.operator(q)
}

func identity(e *scope, v any, p *valuePath, out emit) error { return out(v, p) }

func (c *compiler) definitions(q *gojq.Query) (Filter, error) {
	before := len(c.scope)
	defer func() { c.scope = c.scope[:before] }()
	for _, fd := range q.FuncDefs {
		if err := c.define(fd); err != nil {
			return nil, err
		}
	}
	rest := *q
	rest.FuncDefs = nil
	body, err := c.query(&rest)
	if err != nil {
		return nil, err
	}
	n := len(q.FuncDefs)
	return func(e *scope, v any, p *valuePath, out emit) error {
		for range n {
			e = &scope{up: e}
		}
		return body(e, v, p, out)
	}, nil
}

// define compiles a function and leaves its name in scope.
func (c *compiler) define(fd *gojq.FuncDef) error {
	def := &Definition{params: fd.Args}
	c.push(scopeName{fd.Name, len(fd.Args), def})
	values := 0
	for _, param := range fd.Args {
		c.push(scopeName{strings.TrimPrefix(param, "$"), 0, nil})
	}
	for _, param := range fd.Args {
		if param[0] == '$' {
			c.push(scopeName{param, -1, nil})
			values++
		}
	}
	body, err := c.query(fd.Body)
	c.pop(len(fd.Args) + values)
	def.body = body
	return err
}

// call compiles the use of a function of the program.
func (c *compiler) call(def *Definition, hops int, args []Filter) Filter {
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		inner := def.home
		if inner == nil {
			inner = e.hop(hops)
		}
		for _, a := range args {
			inner = &scope{fn: a, env: e, up: inner}
		}
		at, err := run.invoke()
		if err != nil {
			return err
		}
		if err := run.Alloc(int64(len(args)) * 48); err != nil {
			return err
		}
		err = def.apply(run, 0, args, e, inner, v, p, out)
		run.returned(at)
		return err
	}
}

// apply binds the parameters that are values, then runs the body.
func (d *Definition) apply(run *Run, i int, args []Filter, caller, inner *scope, v any, p *valuePath, out emit) error {
	for ; i < len(d.params); i++ {
		if d.params[i][0] != '$' {
			continue
		}
		at, err := run.Enter()
		if err != nil {
			return err
		}
		err = args[i](caller, v, nil, func(x any, _ *valuePath) error {
			run.roots[at].v = x
			return d.apply(run, i+1, args, caller, &scope{val: x, up: inner}, v, p, out)
		})
		run.Leave(at)
		return err
	}
	return d.body(inner, v, p, out)
}

// function compiles a name with arguments: of the program, native, or of the
// prelude.
func (c *compiler) function(f *gojq.Func) (Filter, error) {
	if f.Name[0] == '$' {
		return c.variable(f.Name)
	}
	if n, hops := c.find(f.Name, len(f.Args)); n != nil {
		if n.def == nil {
			return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
				node := e.hop(hops)
				return node.fn(node.env, v, p, out)
			}), nil
		}
		args, err := c.queries(f.Args)
		return c.call(n.def, hops, args), err
	}
	key := fmt.Sprintf("%s/%d", f.Name, len(f.Args))
	if native, ok := natives[key]; ok {
		args, err := c.queries(f.Args)
		if err != nil {
			return nil, err
		}
		f := native(c.run, args)
		if len(args) > 0 {
			f = c.run.counted(f)
		}
		return f, nil
	}
	def, err := c.prelude(key)
	if err != nil {
		return nil, err
	}
	if def == nil {
		return nil, fmt.Errorf("%s is not defined", key)
	}
	args, err := c.queries(f.Args)
	return c.call(def, 0, args), err
}

func (c *compiler) queries(qs []*gojq.Query) ([]Filter, error) {
	all := make([]Filter, len(qs))
	for i, q := range qs {
		f, err := c.query(q)
		if err != nil {
			return nil, err
		}
		all[i] = f
	}
	return all, nil
}

// prelude compiles a function that is written in jq, outside of any scope.
func (c *compiler) prelude(key string) (*Definition, error) {
	if def, ok := c.extra[key]; ok {
		return def, nil
	}
	src, ok := preludeSource[key]
	if !ok {
		return nil, nil
	}
	q, err := gojq.Parse(src + " .")
	if err != nil {
		return nil, err
	}
	inner := &compiler{run: c.run, extra: c.extra}
	if err := inner.define(q.FuncDefs[0]); err != nil {
		return nil, err
	}
	def := inner.scope[0].def
	def.home = &scope{}
	c.extra[key] = def
	return def, nil
}

func (c *compiler) variable(name string) (Filter, error) {
	n, hops := c.find(name, -1)
	if n != nil {
		return func(e *scope, v any, p *valuePath, out emit) error { return out(e.hop(hops).val, p.lost()) }, nil
	}
	if v, ok := c.run.Globals[name]; ok {
		return constant(v), nil
	}
	if name == "$ENV" {
		return constant(c.run.environ()), nil
	}
	return nil, fmt.Errorf("%s is not defined", name)
}

func constant(v any) Filter {
	return func(e *scope, _ any, p *valuePath, out emit) error { return out(v, p.lost()) }
}

// bind compiles "source as pattern | body", with alternatives.
func (c *compiler) bind(q *gojq.Query) (Filter, error) {
	source, err := c.query(q.Left)
	if err != nil {
		return nil, err
	}
	b, err := c.patterns(q.Patterns)
	if err != nil {
		return nil, err
	}
	for _, name := range b.names {
		c.push(scopeName{name, -1, nil})
	}
	body, err := c.query(q.Right)
	c.pop(len(b.names))
	if err != nil {
		return nil, err
	}
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		at, err := run.Enter()
		if err != nil {
			return err
		}
		err = source(e, v, nil, func(x any, _ *valuePath) error {
			run.roots[at].v = x
			if err := run.Alloc(48 * int64(len(b.names))); err != nil {
				return err
			}
			return b.each(e, v, x, func(inner *scope) error { return body(inner, v, p, out) })
		})
		run.Leave(at)
		return err
	}, nil
}

// A binder destructures a value into variables.
type binder struct {
	size     int // patterns inside of patterns; all of them nest when they are matched
	names    []string
	patterns []destructure
}

// maxPattern is how many variables and containers one pattern may have.
const maxPattern = 200

// A destructure calls next once for each way to take x apart; vals are the
// variables in the order of the binder's names.
type destructure func(e *scope, v, x any, vals []any, next func() error) error

func (c *compiler) patterns(ps []*gojq.Pattern) (*binder, error) {
	b := &binder{}
	for _, p := range ps {
		f, err := c.pattern(b, p)
		if err != nil {
			return nil, err
		}
		b.patterns = append(b.patterns, f)
	}
	return b, nil
}

func (b *binder) each(e *scope, v, x any, body func(*scope) error) error {
	if len(b.patterns) == 1 && len(b.names) == 1 && b.patterns[0] == nil {
		return body(&scope{val: x, up: e})
	}
	var err error
	for i, p := range b.patterns {
		vals := make([]any, len(b.names))
		next := func() error {
			inner := e
			for _, v := range vals {
				inner = &scope{val: v, up: inner}
			}
			return body(inner)
		}
		if p == nil {
			vals[0] = x
			err = next()
		} else {
			err = p(e, v, x, vals, next)
		}
		var caught *Error
		if err == nil || i == len(b.patterns)-1 || !errors.As(err, &caught) {
			return err
		}
	}
	return err
}

// slot returns the place of a variable, adding it if it is new.
func (b *binder) slot(name string) int {
	if i := slices.Index(b.names, name); i >= 0 {
		return i
	}
	b.names = append(b.names, name)
	return len(b.names) - 1
}

// pattern compiles one pattern; nil stands for the plain first variable.
func (c *compiler) pattern(b *binder, p *gojq.Pattern) (destructure, error) {
	if b.size++; b.size+len(p.Object) > maxPattern {
		return nil, errNested
	}
	switch {
	case p.Name != "":
		at := b.slot(p.Name)
		if at == 0 && len(b.names) == 1 && len(b.patterns) == 0 {
			return nil, nil
		}
		return func(e *scope, v, x any, vals []any, next func() error) error {
			vals[at] = x
			return next()
		}, nil
	case p.Array != nil:
		return c.arrayPattern(b, p.Array)
	}
	return c.objectPattern(b, p.Object)
}

// sub compiles a pattern inside another.
func (c *compiler) sub(b *binder, p *gojq.Pattern) (destructure, error) {
	f, err := c.pattern(b, p)
	if f == nil && err == nil {
		f = func(e *scope, v, x any, vals []any, next func() error) error {
			vals[0] = x
			return next()
		}
	}
	return f, err
}

func (c *compiler) arrayPattern(b *binder, ps []*gojq.Pattern) (destructure, error) {
	subs := make([]destructure, len(ps))
	for i, p := range ps {
		var err error
		if subs[i], err = c.sub(b, p); err != nil {
			return nil, err
		}
	}
	run := c.run
	var at func(i int, e *scope, v, x any, vals []any, next func() error) error
	at = func(i int, e *scope, v, x any, vals []any, next func() error) error {
		if i == len(subs) {
			return next()
		}
		item, err := run.indexValue(x, float64(i))
		if err != nil {
			return err
		}
		return subs[i](e, v, item, vals, func() error { return at(i+1, e, v, x, vals, next) })
	}
	return func(e *scope, v, x any, vals []any, next func() error) error { return at(0, e, v, x, vals, next) }, nil
}

func (c *compiler) objectPattern(b *binder, entries []*gojq.PatternObject) (destructure, error) {
	type entry struct {
		key  Filter
		slot int // -1 if the key binds nothing
		sub  destructure
	}
	all := make([]entry, len(entries))
	for i, o := range entries {
		all[i].slot = -1
		var err error
		switch {
		case o.Key != "" && o.Key[0] == '$':
			all[i].key, all[i].slot = constant(o.Key[1:]), b.slot(o.Key)
		case o.Key != "":
			all[i].key = constant(o.Key)
		case o.KeyString != nil:
			all[i].key, err = c.text(o.KeyString, "")
		default:
			all[i].key, err = c.query(o.KeyQuery)
		}
		if err == nil && o.Val != nil {
			all[i].sub, err = c.sub(b, o.Val)
		}
		if err != nil {
			return nil, err
		}
	}
	run := c.run
	var at func(i int, e *scope, v, x any, vals []any, next func() error) error
	at = func(i int, e *scope, v, x any, vals []any, next func() error) error {
		if i == len(all) {
			return next()
		}
		return all[i].key(e, v, nil, func(key any, _ *valuePath) error {
			item, err := run.indexValue(x, key)
			if err != nil {
				return err
			}
			if all[i].slot >= 0 {
				vals[all[i].slot] = item
			}
			rest := func() error { return at(i+1, e, v, x, vals, next) }
			if all[i].sub == nil {
				return rest()
			}
			return all[i].sub(e, v, item, vals, rest)
		})
	}
	return func(e *scope, v, x any, vals []any, next func() error) error { return at(0, e, v, x, vals, next) }, nil
}

const (
	LongestProgram = 256 << 10 // bytes
	byteCost       = 400       // bytes of memory for one byte of a program
)

// Compile turns the text of a program into a filter.
func (r *Run) Compile(src string) (Filter, error) {
	if len(src) > LongestProgram {
		return nil, fmt.Errorf("the program is longer than %d KB", LongestProgram>>10)
	}
	if err := r.Keep(byteCost * int64(len(src))); err != nil {
		return nil, err
	}
	loc := NewObject(2)
	loc.Put("file", "<top-level>")
	loc.Put("line", float64(strings.Count(src[:max(strings.Index(src, "$__loc__"), 0)], "\n")+1))
	r.Globals["$__loc__"] = loc
	q, err := gojq.Parse(src)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	c := &compiler{run: r, extra: map[string]*Definition{}}
	return c.query(q)
}

func syntaxError(src string, err error) error {
	var bad *gojq.ParseError
	if !errors.As(err, &bad) {
		return fmt.Errorf("syntax error: %w", err)
	}
	if bad.Token == "" {
		return errors.New("syntax error, unexpected $end (Unix shell quoting issues?)")
	}
	return fmt.Errorf("syntax error, unexpected '%s' (Unix shell quoting issues?)", bad.Token)
}
