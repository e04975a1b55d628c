package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign sets a variable; it reports false if it is read-only or does not fit.
func (p *proc) assign(name, value string) bool {
	return p.assignRef(reference{name: name}, value)
}

// assignRef sets a variable or an element of an array.
func (p *proc) assignRef(ref reference, value string) bool {
	base, sub := p.resolve(ref.name)
	ref.name = base
	if sub != "" && !ref.sub {
		ref.sub, ref.index = true, sub
	}
	v := p.vars.own(ref.name)
	if v.attrs&readonly != 0 {
		p.fail("%s: readonly variable", ref.name)
		return false
	}
	if p.opts.allexport {
		v.attrs |= exported
	}
	return p.store(v, ref, p.shape(v, value))
}

// shape applies the attributes that change what is assigned.
func (p *proc) shape(v *variable, s string) string {
	switch {
	case v.attrs&integer != 0:
		return itoa(p.valueOf(s))
	case v.attrs&lower != 0:
		return p.pieces(s, strings.ToLower)
	case v.attrs&upper != 0:
		return p.pieces(s, strings.ToUpper)
	}
	return s
}

// store puts a value into a variable that p owns, charging for what it grows by.
func (p *proc) store(v *variable, ref reference, s string) bool {
	if v.kind == scalar && !ref.sub {
		if err := p.vars.resize(v, int64(len(s))+64); err != nil {
			p.bad = err
			return false
		}
		v.str, v.set = s, true
		return true
	}
	if !ref.sub {
		ref.index = "0"
	}
	if err := p.vars.resize(v, v.size+int64(len(s)+len(ref.index)+48)); err != nil {
		p.bad = err
		return false
	}
	if v.kind == assoc {
		v.table.put(ref.index, s)
		v.set = true
		return true
	}
	return p.storeIndexed(v, ref.index, s)
}

func (p *proc) storeIndexed(v *variable, index, s string) bool {
	n, err := strconv.ParseInt(index, 10, 64)
	if err != nil {
		n = p.arithmText(index)
	}
	v.toList()
	if n < 0 {
		n += v.list.top() + 1
	}
	if n < 0 {
		p.fail("%s: bad array subscript", index)
		return false
	}
	v.list.put(n, s)
	v.set = true
	return p.bad == nil
}

// toList turns a scalar into an indexed array with one element.
func (v *variable) toList() {
	if v.kind != scalar {
		return
	}
	v.kind = indexed
	if v.set {
		v.list = list{vals: []string{v.str}}
	}
	v.str, v.set = "", true
}

// assignment performs one assignment of the script; extra attributes come from
// declare and its like.
func (p *proc) assignment(a *syntax.Assign, extra attr) {
	if a.Name == nil {
		return
	}
	ref := reference{name: a.Name.Value}
	if a.Array != nil {
		p.assignArray(ref.name, a)
		return
	}
	if a.Index != nil {
		ref.sub = true
		ref.index = p.indexText(ref.name, a.Index)
	}
	value := ""
	if a.Value != nil {
		value = p.assignValue(a.Value)
	}
	if p.bad != nil {
		return
	}
	if a.Append {
		value = p.appended(ref, value)
	}
	p.assignRef(ref, value)
}

// appended returns what += stores.
func (p *proc) appended(ref reference, value string) string {
	old := p.fetch(ref)
	base, _ := p.resolve(ref.name)
	if v := p.vars.get(base); v != nil && v.attrs&integer != 0 {
		return itoa(p.valueOf(old.str(" ")) + p.valueOf(value))
	}
	s := old.str(" ")
	if len(s)+len(value) > checkFrom {
		if err := p.ses.Limiter.Fits(int64(len(s) + len(value))); err != nil {
			p.bad = err
			return ""
		}
	}
	return s + value
}

// assignArray performs a=(…) and a+=(…).
func (p *proc) assignArray(name string, a *syntax.Assign) {
	elems := p.elementsOf(a.Array, p.isAssoc(name))
	if p.bad == nil {
		p.setArray(name, elems, a.Append)
	}
}

func (p *proc) isAssoc(name string) bool {
	v := p.lookup(name)
	return v != nil && v.kind == assoc
}

// setArray gives an array new elements, or more of them.
func (p *proc) setArray(name string, elems []newElem, more bool) {
	base, _ := p.resolve(name)
	v := p.vars.own(base)
	if v.attrs&readonly != 0 {
		p.fail("%s: readonly variable", base)
		return
	}
	if !more {
		v.clear()
		v.set = false
	}
	v.toList()
	v.set = true
	p.fillArray(v, elems)
}

// clear empties a variable, keeping its kind.
func (v *variable) clear() {
	v.str, v.list = "", list{}
	if v.kind == assoc {
		v.table = newTable()
	}
}

// newElem is one element of an array literal.
type newElem struct {
	index string // empty means the next one
	value string
}

// elementsOf expands the elements of an array literal.
func (p *proc) elementsOf(x *syntax.ArrayExpr, isAssoc bool) []newElem {
	var out []newElem
	for _, el := range x.Elems {
		switch {
		case el.Index != nil:
			index := ""
			if isAssoc {
				index = p.keyText(el.Index)
			} else {
				index = itoa(p.arithm(el.Index))
			}
			value := ""
			if el.Value != nil {
				value = p.assignValue(el.Value)
			}
			out = append(out, newElem{index: index, value: value})
		case el.Value != nil:
			fields := p.fields([]*syntax.Word{el.Value})
			if !p.fits(64 * len(fields)) {
				return nil
			}
			for _, s := range fields {
				out = append(out, newElem{value: s})
			}
		}
		if p.bad != nil {
			return nil
		}
	}
	return out
}

// fillArray puts elements into an array.
func (p *proc) fillArray(v *variable, elems []newElem) {
	size := v.bytes()
	for _, el := range elems {
		size += int64(len(el.value)+len(el.index)) + 48
	}
	if err := p.vars.resize(v, size); err != nil {
		p.bad = err
		return
	}
	if v.kind == assoc {
		p.fillTable(v, elems)
		return
	}
	at := v.list.top() + 1
	for _, el := range elems {
		if !p.spend(len(v.list.keys)/4 + 16) { // an element may go in between the others
			return
		}
		if el.index != "" {
			n, _ := strconv.ParseInt(el.index, 10, 64)
			if n < 0 {
				n += v.list.top() + 1
			}
			at = max(n, 0)
		}
		v.list.put(at, p.shape(v, el.value))
		at++
	}
}

// fillTable takes [key]=value elements, or keys and values in turn.
func (p *proc) fillTable(v *variable, elems []newElem) {
	for i := 0; i < len(elems); i++ {
		el := elems[i]
		if el.index != "" {
			v.table.put(el.index, p.shape(v, el.value))
			continue
		}
		value := ""
		if i+1 < len(elems) && elems[i+1].index == "" {
			i++
			value = elems[i].value
		}
		v.table.put(el.value, p.shape(v, value))
	}
}
