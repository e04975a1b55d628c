package shell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (p *proc) unset(args []string) error {
	what := byte(0)
	status := 0
	for len(args) > 0 && len(args[0]) == 2 && args[0][0] == '-' && strings.IndexByte("fvn-", args[0][1]) >= 0 {
		c := args[0][1]
		args = args[1:]
		if c == '-' {
			break
		}
		if what != 0 && what != c && (what == 'f' || c == 'f') {
			p.errorf("unset: cannot simultaneously unset a function and a variable")
			return Status(1)
		}
		what = c
	}
	for _, arg := range args {
		if what == 'f' || what == 0 && p.vars.get(arg) == nil && p.funcs[arg] != nil {
			p.unsetFunc(arg)
			continue
		}
		if base, _, _ := strings.Cut(arg, "["); what == 0 && !isName(base) {
			continue // as a function, which there is none of
		}
		if err := p.unsetVar(arg, what == 'n'); err != nil {
			p.errorf("unset: %v", err)
			status = 1
		}
	}
	return asStatus(status)
}

func (p *proc) unsetFunc(name string) {
	if f := p.funcs[name]; f != nil {
		_ = p.vars.charge(-f.size)
	}
	funcs := maps.Clone(p.funcs)
	delete(funcs, name)
	p.funcs, p.shared = funcs, false
}

func (p *proc) unsetVar(name string, ref bool) error {
	at := p.referenceOf(name)
	base, index, element := at.name, at.index, at.sub
	if !ref {
		resolved, sub := p.resolve(base)
		base = resolved
		if sub != "" && !element {
			index, element = sub, true
		}
	}
	v := p.vars.get(base)
	if v == nil {
		if !isName(base) {
			return fmt.Errorf("`%s': not a valid identifier", name)
		}
		if !element {
			p.forget(base)
		}
		return nil
	}
	if v.attrs&readonly != 0 {
		return fmt.Errorf("%s: cannot unset: readonly variable", base)
	}
	if !element {
		p.forget(base)
		return nil
	}
	v = p.vars.own(base)
	switch {
	case index == "@" || index == "*":
		v.clear()
	case v.kind == assoc:
		v.table.remove(index)
	default:
		n := p.arithmText(index)
		if v.kind == scalar {
			if n != 0 {
				return fmt.Errorf("%s: not an array variable", base)
			}
			p.forget(base)
			return nil
		}
		if n < 0 {
			n += v.list.top() + 1
		}
		if n < 0 {
			return fmt.Errorf("[%s]: bad array subscript", index)
		}
		v.list.remove(n)
	}
	return nil
}

// forget unsets a variable. A local of this function stays local and is unset;
// one of a caller, or one assigned before a command, is given up, so that what it
// hid is seen again.
func (p *proc) forget(name string) {
	if n := len(p.frames); n == 0 || !contains(p.frames[n-1].hidden, name) {
		for _, hidden := range slices.Backward(p.prefixed) {
			if old, ok := hidden[name]; ok {
				delete(hidden, name)
				p.restore(name, old)
				return
			}
		}
	}
	for i := len(p.frames) - 1; i >= 0; i-- {
		f := &p.frames[i]
		old, ok := f.hidden[name]
		if !ok {
			continue
		}
		if i == len(p.frames)-1 {
			break
		}
		p.ownHidden(f)
		delete(f.hidden, name)
		p.restore(name, old)
		return
	}
	p.vars.unset(name)
}

func (p *proc) shift(args []string) error {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 0 {
			return fmt.Errorf("%s: shift count out of range", args[0])
		}
	}
	if n > len(p.params) {
		return Status(1)
	}
	p.params = p.params[n:]
	return nil
}

func (p *proc) let(args []string) error {
	n := int64(0)
	for _, arg := range args {
		n = p.arithmText(arg)
		if p.bad != nil {
			if stops(p.bad) {
				return p.bad
			}
			p.errorf("let: %v", p.bad)
			p.bad = nil
			return Status(1)
		}
	}
	return asStatus(int(truth(n == 0)))
}
