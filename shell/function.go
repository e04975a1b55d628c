package shell

import (
	"maps"

	"mvdan.cc/sh/v3/syntax"
)

func (p *proc) define(c *syntax.FuncDecl) {
	if c.Name == nil { // the parser takes () { … } without a name, which no bash has
		p.errorf("syntax error near `()'")
		p.status = 2
		return
	}
	p.status = 0
	p.ownFuncs()
	size := max(int64(c.Body.End().Offset()-c.Body.Pos().Offset())*perSourceByte, 256)
	if old := p.funcs[c.Name.Value]; old != nil {
		size -= old.size
	}
	if err := p.vars.charge(size); err != nil {
		p.stop(err)
		return
	}
	if old := p.funcs[c.Name.Value]; old != nil {
		size += old.size
	}
	p.funcs[c.Name.Value] = &function{name: c.Name.Value, body: c.Body, file: p.file, size: size}
}

// perSourceByte is about what a byte of a script takes as a tree, which a
// function keeps for as long as it is defined.
const perSourceByte = 64

// ownFuncs makes the functions of a subshell its own before it changes them.
func (p *proc) ownFuncs() {
	if p.shared {
		p.funcs, p.shared = maps.Clone(p.funcs), false
	}
}

// exportFunc makes a function known to the shells started from this one.
func (p *proc) exportFunc(f *function, on bool) {
	p.ownFuncs()
	changed := *f
	changed.exported = on
	p.funcs[f.name] = &changed
}

// exportedFuncs returns what a new shell starts with.
func (p *proc) exportedFuncs() map[string]*function {
	out := map[string]*function{}
	for name, f := range p.funcs {
		if f.exported {
			out[name] = f
		}
	}
	return out
}

// invoke calls a function.
func (p *proc) invoke(f *function, args []string) {
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	params, loops := p.params, p.loops
	p.params, p.loops = args, 0
	p.frames = append(p.frames, frame{name: f.name, line: p.line, file: p.file})
	p.file = f.file
	kept := p.keptTraps()
	p.depth++
	p.stmt(f.body)
	if p.flow == returning {
		p.flow = next
	}
	p.trap("RETURN")
	p.bringBack(kept)
	p.depth--
	p.leave()
	p.params, p.loops = params, loops
}

// leave ends the innermost frame and brings back what it hid.
func (p *proc) leave() {
	f := &p.frames[len(p.frames)-1]
	p.file = f.file
	if f.opts != nil {
		p.opts = *f.opts
	}
	for name, v := range f.hidden {
		p.restore(name, v)
	}
	p.frames = p.frames[:len(p.frames)-1]
}

// restore puts back a variable that was hidden for a while; nil means there was
// none. It was charged for all the time.
func (p *proc) restore(name string, v *variable) {
	if cur := p.vars.vars[name]; cur != nil {
		_ = p.vars.charge(-cur.size)
	}
	if v == nil {
		delete(p.vars.vars, name)
		if p.vars.parent != nil && p.vars.parent.get(name) != nil {
			p.vars.place(name, nil)
		}
		return
	}
	p.vars.place(name, v)
}

// hide takes a variable out of sight and returns it, for restore. It stays
// charged for: a function that calls itself hides one at every level.
func (p *proc) hide(name string) *variable {
	old := p.vars.get(name)
	if p.vars.vars[name] == nil && old != nil {
		old = old.clone()
	}
	p.vars.place(name, &variable{})
	return old
}
