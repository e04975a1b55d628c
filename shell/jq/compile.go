package jq

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// jq programs are parsed by gojq and compiled to Go functions here. Its own
// evaluator is not used: it sorts the keys of objects, where jq keeps their
// order, and it can neither be limited nor stopped inside of an operation.

// A Filter calls out with each of its results for the input v. p is where v
// was found; nil if no paths are needed.
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

// A definition is a function of the program.
type definition struct {
	params []string
	body   Filter
	home   *scope // of a function that belongs to no scope
}

// A scopeName is a name in scope; each has a place in the scope chain.
type scopeName struct {
	name  string // "$x" for variables, "*x" for labels
	arity int
	def   *definition // nil for variables, closures and labels
}

type compiler struct {
	run   *Run
	scope []scopeName
	depth int
	extra map[string]*definition // functions of the prelude that were needed
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

// fail ends the compilation; [Run.Compile] returns the error.
func (c *compiler) fail(format string, args ...any) { panic(stop{fmt.Errorf(format, args...)}) }

// nest counts a level of the program's text, and n more that are about to follow.
func (c *compiler) nest(n int) {
	if c.depth++; c.depth+n > maxNesting {
		c.fail("%s", nestedTooDeeply)
	}
}

const nestedTooDeeply = "the program is nested too deeply"

// query compiles any expression.
func (c *compiler) query(q *gojq.Query) Filter {
	c.nest(0)
	defer func() { c.depth-- }()
	if len(q.Imports) > 0 {
		c.fail("modules cannot be loaded here")
	}
	if len(q.FuncDefs) > 0 {
		return c.definitions(q)
	}
	if q.Term != nil {
		return c.term(q.Term)
	}
	if q.Right == nil {
		return identity
	}
	if len(q.Patterns) > 0 {
		return c.bind(q)
	}
	return c.operator(q)
}

func identity(e *scope, v any, p *valuePath, out emit) error { return out(v, p) }

func (c *compiler) definitions(q *gojq.Query) Filter {
	before := len(c.scope)
	defer func() { c.scope = c.scope[:before] }()
	for _, fd := range q.FuncDefs {
		c.define(fd)
	}
	rest := *q
	rest.FuncDefs = nil
	body := c.query(&rest)
	n := len(q.FuncDefs)
	return func(e *scope, v any, p *valuePath, out emit) error {
		for range n {
			e = &scope{up: e}
		}
		return body(e, v, p, out)
	}
}

// define compiles a function and leaves its name in scope.
func (c *compiler) define(fd *gojq.FuncDef) {
	def := &definition{params: fd.Args}
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
	def.body = c.query(fd.Body)
	c.pop(len(fd.Args) + values)
}

// call compiles the use of a function of the program.
func (c *compiler) call(def *definition, hops int, args []Filter) Filter {
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		inner := def.home
		if inner == nil {
			inner = e.hop(hops)
		}
		for _, a := range args {
			inner = &scope{fn: a, env: e, up: inner}
		}
		at := run.invoke()
		run.Alloc(int64(len(args)) * 48)
		err := def.apply(run, 0, args, e, inner, v, p, out)
		run.returned(at)
		return err
	}
}

// apply binds the parameters that are values, then runs the body.
func (d *definition) apply(run *Run, i int, args []Filter, caller, inner *scope, v any, p *valuePath, out emit) error {
	for ; i < len(d.params); i++ {
		if d.params[i][0] != '$' {
			continue
		}
		at := run.Enter()
		err := args[i](caller, v, nil, func(x any, _ *valuePath) error {
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
func (c *compiler) function(f *gojq.Func) Filter {
	if f.Name[0] == '$' {
		return c.variable(f.Name)
	}
	if n, hops := c.find(f.Name, len(f.Args)); n != nil {
		if n.def == nil {
			return c.run.counted(func(e *scope, v any, p *valuePath, out emit) error {
				node := e.hop(hops)
				return node.fn(node.env, v, p, out)
			})
		}
		return c.call(n.def, hops, c.queries(f.Args))
	}
	key := fmt.Sprintf("%s/%d", f.Name, len(f.Args))
	if native := nativeFor(key); native != nil {
		filter := native(c.run, c.queries(f.Args))
		if len(f.Args) > 0 {
			filter = c.run.counted(filter)
		}
		return filter
	}
	return c.call(c.prelude(key), 0, c.queries(f.Args))
}

func (c *compiler) queries(qs []*gojq.Query) []Filter {
	all := make([]Filter, len(qs))
	for i, q := range qs {
		all[i] = c.query(q)
	}
	return all
}

// prelude compiles a function that is written in jq, outside of any scope.
func (c *compiler) prelude(key string) *definition {
	if def, ok := c.extra[key]; ok {
		return def
	}
	fd, ok := preludeFuncs()[key]
	if !ok {
		c.fail("%s is not defined", key)
	}
	inner := &compiler{run: c.run, extra: c.extra}
	inner.define(fd)
	def := inner.scope[0].def
	def.home = &scope{}
	c.extra[key] = def
	return def
}

func (c *compiler) variable(name string) Filter {
	n, hops := c.find(name, -1)
	if n != nil {
		return func(e *scope, v any, p *valuePath, out emit) error { return out(e.hop(hops).val, p.computed()) }
	}
	if v, ok := c.run.Globals[name]; ok {
		return constant(v)
	}
	if name != "$ENV" {
		c.fail("%s is not defined", name)
	}
	return constant(c.run.environ())
}

func constant(v any) Filter {
	return func(e *scope, _ any, p *valuePath, out emit) error { return out(v, p.computed()) }
}

// bind compiles "source as pattern | body", with alternatives.
func (c *compiler) bind(q *gojq.Query) Filter {
	source := c.query(q.Left)
	b := c.patterns(q.Patterns)
	body := c.query(q.Right)
	c.pop(len(b.names))
	run := c.run
	return func(e *scope, v any, p *valuePath, out emit) error {
		at := run.Enter()
		err := source(e, v, nil, func(x any, _ *valuePath) error {
			run.roots[at].v = x
			run.Alloc(48 * int64(len(b.names)))
			return b.each(e, v, x, func(inner *scope) error { return body(inner, v, p, out) })
		})
		run.Leave(at)
		return err
	}
}

// A binder destructures a value into variables.
type binder struct {
	size     int // patterns inside of patterns; all of them nest when they are matched
	names    []string
	patterns []destructure
	single   bool // the pattern is one variable
}

// maxPattern is how many variables and containers one pattern may have.
const maxPattern = 200

// A destructure calls next once for each way to take x apart; vals are the
// variables in the order of the binder's names.
type destructure func(e *scope, v, x any, vals []any, next func() error) error

// patterns compiles alternative patterns and leaves their variables in scope.
func (c *compiler) patterns(ps []*gojq.Pattern) *binder {
	b := &binder{}
	for _, p := range ps {
		b.patterns = append(b.patterns, c.pattern(b, p))
	}
	b.single = len(ps) == 1 && ps[0].Name != ""
	for _, name := range b.names {
		c.push(scopeName{name, -1, nil})
	}
	return b
}

// each calls body with a scope for each way to take x apart.
func (b *binder) each(e *scope, v, x any, body func(*scope) error) error {
	if b.single {
		return body(&scope{val: x, up: e})
	}
	var err error
	for i, p := range b.patterns {
		vals := make([]any, len(b.names))
		err = p(e, v, x, vals, func() error {
			inner := e
			for _, v := range vals {
				inner = &scope{val: v, up: inner}
			}
			return body(inner)
		})
		if _, caught := errors.AsType[*Error](err); !caught || i == len(b.patterns)-1 {
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

func (c *compiler) pattern(b *binder, p *gojq.Pattern) destructure {
	if b.size++; b.size+len(p.Object) > maxPattern {
		c.fail("%s", nestedTooDeeply)
	}
	switch {
	case p.Name != "":
		at := b.slot(p.Name)
		return func(e *scope, v, x any, vals []any, next func() error) error {
			vals[at] = x
			return next()
		}
	case p.Array != nil:
		return c.arrayPattern(b, p.Array)
	}
	return c.objectPattern(b, p.Object)
}

func (c *compiler) arrayPattern(b *binder, ps []*gojq.Pattern) destructure {
	subs := make([]destructure, len(ps))
	for i, p := range ps {
		subs[i] = c.pattern(b, p)
	}
	run := c.run
	var from func(i int, e *scope, v, x any, vals []any, next func() error) error
	from = func(i int, e *scope, v, x any, vals []any, next func() error) error {
		if i == len(subs) {
			return next()
		}
		item, err := run.indexValue(x, float64(i))
		if err != nil {
			return err
		}
		return subs[i](e, v, item, vals, func() error { return from(i+1, e, v, x, vals, next) })
	}
	return func(e *scope, v, x any, vals []any, next func() error) error { return from(0, e, v, x, vals, next) }
}

// A patternEntry is one key of an object pattern.
type patternEntry struct {
	key  Filter
	slot int         // of the variable that the key binds; -1 if it binds none
	sub  destructure // of the value; nil if there is none
}

func (c *compiler) patternEntry(b *binder, o *gojq.PatternObject) patternEntry {
	entry := patternEntry{slot: -1}
	switch {
	case o.Key != "" && o.Key[0] == '$':
		entry.key, entry.slot = constant(o.Key[1:]), b.slot(o.Key)
	case o.Key != "":
		entry.key = constant(o.Key)
	case o.KeyString != nil:
		entry.key = c.text(o.KeyString, "")
	default:
		entry.key = c.query(o.KeyQuery)
	}
	if o.Val != nil {
		entry.sub = c.pattern(b, o.Val)
	}
	return entry
}

func (c *compiler) objectPattern(b *binder, objects []*gojq.PatternObject) destructure {
	entries := make([]patternEntry, len(objects))
	for i, o := range objects {
		entries[i] = c.patternEntry(b, o)
	}
	run := c.run
	var from func(i int, e *scope, v, x any, vals []any, next func() error) error
	from = func(i int, e *scope, v, x any, vals []any, next func() error) error {
		if i == len(entries) {
			return next()
		}
		return entries[i].key(e, v, nil, func(key any, _ *valuePath) error {
			item, err := run.indexValue(x, key)
			if err != nil {
				return err
			}
			if entries[i].slot >= 0 {
				vals[entries[i].slot] = item
			}
			rest := func() error { return from(i+1, e, v, x, vals, next) }
			if entries[i].sub == nil {
				return rest()
			}
			return entries[i].sub(e, v, item, vals, rest)
		})
	}
	return func(e *scope, v, x any, vals []any, next func() error) error { return from(0, e, v, x, vals, next) }
}

const (
	LongestProgram = 256 << 10 // bytes
	byteCost       = 400       // bytes of memory for one byte of a program
)

// Compile turns the text of a program into a filter.
func (r *Run) Compile(src string) (f Filter, err error) {
	if len(src) > LongestProgram {
		return nil, fmt.Errorf("the program is longer than %d KB", LongestProgram>>10)
	}
	err = r.Guard(func() error {
		r.Keep(byteCost * int64(len(src)))
		loc := NewObject(2)
		loc.Put("file", "<top-level>")
		loc.Put("line", float64(strings.Count(src[:max(strings.Index(src, "$__loc__"), 0)], "\n")+1))
		r.Globals["$__loc__"] = loc
		q, err := gojq.Parse(src)
		if err != nil {
			return syntaxError(err)
		}
		f = (&compiler{run: r, extra: map[string]*definition{}}).query(q)
		return nil
	})
	return f, err
}

func syntaxError(err error) error {
	bad, ok := errors.AsType[*gojq.ParseError](err)
	if !ok {
		return fmt.Errorf("syntax error: %w", err)
	}
	token := "'" + bad.Token + "'"
	if bad.Token == "" {
		token = "$end"
	}
	return fmt.Errorf("syntax error, unexpected %s (Unix shell quoting issues?)", token)
}
