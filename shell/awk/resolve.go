package awk

import "fmt"

// The special variables, in the order of their slots.
const (
	vNF = iota
	vNR
	vFNR
	vFS
	vOFS
	vORS
	vRS
	vRT
	vSUBSEP
	vCONVFMT
	vOFMT
	vFILENAME
	vRSTART
	vRLENGTH
	vIGNORECASE
	vFPAT
	vFIELDWIDTHS
	vARGC
	vARGIND
	vERRNO
	specials // how many there are
)

var specialNames = [specials]string{
	"NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "RT", "SUBSEP", "CONVFMT", "OFMT", "FILENAME", "RSTART", "RLENGTH",
	"IGNORECASE", "FPAT", "FIELDWIDTHS", "ARGC", "ARGIND", "ERRNO",
}

// The special arrays, in the order of their slots.
const (
	aENVIRON = iota
	aARGV
	aPROCINFO
	specialArrays
)

var specialArrayNames = [specialArrays]string{"ENVIRON", "ARGV", "PROCINFO"}

func newProgram() *Program {
	p := &Program{funcs: make(map[string]*function), globals: make(map[string]*symbol)}
	for i, name := range specialNames {
		p.globals[name] = &symbol{name: name, slot: i}
	}
	for i, name := range specialArrayNames {
		p.globals[name] = &symbol{name: name, slot: i, array: true}
	}
	return p
}

// global returns the global variable of that name, new if need be.
func (p *Program) global(name string) *symbol {
	s := p.globals[name]
	if s == nil {
		s = &symbol{name: name, slot: -1}
		p.globals[name] = s
	}
	return s
}

// resolve finds the functions called and which variables are arrays: a name
// that is only handed on is what the function it goes to makes of it.
func (p *parser) resolve() {
	for _, c := range p.calls {
		c.fn = p.prog.funcs[c.name]
		if c.fn == nil {
			panic(&fatal{c.line, fmt.Sprintf("function `%s' not defined", c.name)})
		}
		if len(c.args) > len(c.fn.params) {
			panic(&fatal{c.line, fmt.Sprintf("function `%s' called with more arguments than declared", c.name)})
		}
	}
	for changed := true; changed; {
		changed = false
		for _, c := range p.calls {
			changed = c.spread() || changed
		}
	}
	p.prog.assignSlots()
}

// asArray makes the variable an array. The special ones are what they are.
func (v *varRef) asArray() {
	if s := v.sym; !s.array && !s.local && s.slot >= 0 {
		panic(&fatal{v.line, fmt.Sprintf("attempt to use scalar `%s' as an array", s.name)})
	}
	v.sym.array = true
}

// spread makes argument and parameter arrays if either is one.
func (c *call) spread() (changed bool) {
	for i, e := range c.args {
		v, ok := e.(*varRef)
		param := c.fn.params[i]
		if ok && v.sym.array != param.array {
			v.asArray()
			param.array = true
			changed = true
		}
	}
	return changed
}

func (p *Program) assignSlots() {
	p.slots, p.arrays = specials, specialArrays
	for _, s := range p.globals {
		switch {
		case s.slot >= 0:
		case s.array:
			s.slot = p.arrays
			p.arrays++
		default:
			s.slot = p.slots
			p.slots++
		}
	}
	for _, f := range p.funcs {
		for _, s := range f.params {
			if s.array {
				s.slot = f.arrays
				f.arrays++
			} else {
				s.slot = f.scalars
				f.scalars++
			}
		}
	}
}
