package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declaration collects what declare and its like are asked to do.
type declaration struct {
	variant string
	add     attr
	remove  attr
	kind    valueKind
	hasKind bool
	global  bool
	print   bool
	funcs   bool // -f
	names   bool // -F
	done    bool // "--" was seen
	status  int
}

// flag reads one option word.
func (d *declaration) flag(word string) error {
	set := &d.add
	if word[0] == '+' {
		set = &d.remove
	}
	for _, c := range word[1:] {
		switch c {
		case 'a':
			d.kind, d.hasKind = indexed, true
		case 'A':
			d.kind, d.hasKind = assoc, true
		case 'x':
			*set |= exported
		case 'r':
			*set |= readonly
		case 'i':
			*set |= integer
		case 'l':
			*set |= lower
		case 'u':
			*set |= upper
		case 'n':
			if d.variant == "export" {
				d.remove |= exported
				d.add &^= exported
			} else {
				*set |= nameref
			}
		case 'g':
			d.global = true
		case 'p':
			d.print = true
		case 'f':
			d.funcs = true
		case 'F':
			d.funcs, d.names = true, true
		case 't', 'I':
		default:
			return fmt.Errorf("-%c: invalid option", c)
		}
	}
	return nil
}

func newDeclaration(variant string) *declaration {
	d := &declaration{variant: variant}
	switch variant {
	case "export":
		d.add = exported
	case "readonly":
		d.add = readonly
	case "nameref":
		d.add = nameref
	}
	return d
}

// declItem is one name of a declaration, its value expanded.
type declItem struct {
	word  string         // name or name=value, when it came as a word
	tree  *syntax.Assign // when it came as an assignment
	text  string
	elems []newElem
}

// declClause runs declare and its like from the syntax tree. All values are
// expanded before any name is changed: local x=1 y=$x takes the outer x.
func (p *proc) declClause(c *syntax.DeclClause) {
	d := newDeclaration(c.Variant.Value)
	p.substatus = -1
	if p.req.Check != nil {
		if err := p.req.Check(p.ctx, p.dir, []string{d.variant}); err != nil {
			p.stop(err)
			return
		}
	}
	p.ses.seen.command(d.variant)
	var items []declItem
	for _, a := range c.Args {
		items = p.declItems(items, d, a)
		if p.failed() {
			return
		}
	}
	p.declareAll(d, items)
}

// declItems expands one argument of the tree; options go into d at once.
func (p *proc) declItems(items []declItem, d *declaration, a *syntax.Assign) []declItem {
	if a.Name == nil || a.Naked && a.Value != nil { // an option, or a word only now known
		for _, word := range p.fields([]*syntax.Word{a.Value}) {
			if !p.declareOption(d, word) {
				items = append(items, declItem{word: word})
			}
		}
		return items
	}
	item := declItem{tree: a}
	if a.Value != nil {
		item.text = p.assignValue(a.Value)
	}
	if a.Array != nil {
		item.elems = p.elementsOf(a.Array, d.hasKind && d.kind == assoc || p.isAssoc(a.Name.Value))
	}
	return append(items, item)
}

// declareWords runs declare and its like from expanded words.
func (p *proc) declareWords(variant string, args []string) error {
	d := newDeclaration(variant)
	var items []declItem
	for _, word := range args {
		if !p.declareOption(d, word) {
			items = append(items, declItem{word: word})
		}
	}
	p.declareAll(d, items)
	return asStatus(p.status)
}

func (p *proc) declareAll(d *declaration, items []declItem) {
	for _, item := range items {
		if item.tree != nil {
			p.declareAssign(d, item)
		} else {
			p.declareWord(d, item.word)
		}
		if p.failed() {
			return
		}
	}
	if len(items) == 0 && d.status == 0 {
		p.listDeclared(d)
	}
	p.status = d.status
}

// declareOption takes a word that is an option.
func (p *proc) declareOption(d *declaration, word string) bool {
	if d.done || len(word) < 2 || word[0] != '-' && word[0] != '+' {
		return false
	}
	if word == "--" {
		d.done = true
	} else if err := d.flag(word); err != nil {
		p.errorf("%s: %v", d.variant, err)
		d.status = 2
	}
	return true
}

// declareWord handles one expanded word.
func (p *proc) declareWord(d *declaration, word string) {
	if word == "-" && d.variant == "local" && len(p.frames) > 0 {
		opts := p.opts
		p.frames[len(p.frames)-1].opts = &opts
		return
	}
	name, value, ok := strings.Cut(word, "=")
	plus := strings.HasSuffix(name, "+") && ok
	name = strings.TrimSuffix(name, "+")
	if base, _, _ := strings.Cut(name, "["); !isName(base) && !d.funcs {
		p.errorf("%s: `%s': not a valid identifier", d.variant, word)
		d.status = 1
		return
	}
	if d.hasKind && ok && strings.HasPrefix(value, "(") && strings.HasSuffix(value, ")") {
		p.declareLiteral(d, name+"="+value)
		return
	}
	p.declare(d, name, ok, func() {
		ref := p.referenceOf(name)
		if plus {
			value = p.appended(ref, value)
		}
		p.assignRef(ref, value)
	})
}

// declareLiteral takes declare -a "x=(1 2)", an array literal inside a word.
func (p *proc) declareLiteral(d *declaration, src string) {
	prog, err := p.ses.Parse(src)
	if err != nil || len(prog.Stmts) != 1 {
		p.fail("%s: syntax error in array literal", src)
		return
	}
	call, ok := prog.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) != 1 || len(call.Args) > 0 {
		p.fail("%s: syntax error in array literal", src)
		return
	}
	for _, item := range p.declItems(nil, d, call.Assigns[0]) {
		p.declareAssign(d, item)
	}
}

// declareAssign handles one assignment of the tree.
func (p *proc) declareAssign(d *declaration, item declItem) {
	a := item.tree
	name := a.Name.Value
	if a.Array != nil && !d.hasKind && !p.isAssoc(name) {
		d2 := *d
		d2.kind, d2.hasKind = indexed, true
		defer func() { d.status = d2.status }()
		p.declare(&d2, name, true, func() { p.setArray(name, item.elems, a.Append) })
		return
	}
	p.declare(d, name, !a.Naked, func() {
		if a.Array != nil {
			p.setArray(name, item.elems, a.Append)
			return
		}
		ref := reference{name: name}
		if a.Index != nil {
			ref.sub, ref.index = true, p.indexText(name, a.Index)
		}
		if a.Append {
			item.text = p.appended(ref, item.text)
		}
		if d.hasKind && d.kind == indexed && a.Index == nil && strings.HasPrefix(item.text, "(") &&
			strings.HasSuffix(item.text, ")") {
			p.declareLiteral(d, name+"="+item.text)
			return
		}
		p.assignRef(ref, item.text)
	})
}

// declare applies a declaration to one name; set assigns its value.
func (p *proc) declare(d *declaration, name string, hasValue bool, set func()) {
	name, _, _ = strings.Cut(name, "[")
	switch {
	case d.funcs:
		p.declareFunc(d, name, false)
		return
	case d.print && !hasValue:
		p.printVar(d, name)
		return
	case d.variant == "local" && len(p.frames) == 0:
		p.errorf("local: can only be used in a function")
		d.status = 1
		return
	}
	if len(p.frames) > 0 && !d.global && (d.variant == "local" || d.variant == "declare" || d.variant == "typeset") &&
		!p.makeLocal(name) {
		d.refuse(p, "%s: readonly variable", name)
		return
	}
	v := p.vars.own(name)
	switch {
	case v.attrs&readonly != 0 && (hasValue || d.remove&readonly != 0):
		d.refuse(p, "%s: readonly variable", name)
		return
	case d.hasKind && v.kind != scalar && v.kind != d.kind:
		d.refuse(p, "%s: cannot convert one kind of array to the other", name)
		return
	case d.hasKind && v.kind == scalar:
		v.changeKind(d.kind)
	}
	p.applyAttrs(d, v, name, hasValue, set)
}

// refuse reports what cannot be declared; the other names go on.
func (d *declaration) refuse(p *proc, format, name string) {
	p.errorf("%s: "+format, d.variant, name)
	d.status = 1
}

// applyAttrs assigns the value between the attributes that shape it and those
// that would forbid it.
func (p *proc) applyAttrs(d *declaration, v *variable, name string, hasValue bool, set func()) {
	if d.add&nameref != 0 {
		if hasValue {
			v.attrs &^= nameref
			set()
		}
		if v.str == name && len(p.frames) == 0 {
			v.str, v.set = "", false
			d.refuse(p, "%s: nameref variable self references not allowed", name)
			return
		}
		v.attrs |= d.add
		return
	}
	v.attrs = (v.attrs | d.add&^readonly) &^ d.remove
	if d.add&lower != 0 {
		v.attrs &^= upper
	}
	if d.add&upper != 0 {
		v.attrs &^= lower
	}
	if hasValue {
		set()
	}
	p.vars.own(name).attrs |= d.add & readonly
}

// changeKind makes an array of a scalar, which becomes its first element. An
// array that is only declared stays unset.
func (v *variable) changeKind(kind valueKind) {
	set, old := v.set, v.str
	if kind == indexed {
		v.toList()
		v.set = set
		return
	}
	v.kind, v.table, v.str = assoc, newTable(), ""
	if set {
		v.table.put("0", old)
	}
}

// makeLocal hides a variable until the innermost function ends. It reports
// false for a global read-only variable, which nothing may hide.
func (p *proc) makeLocal(name string) bool {
	f := &p.frames[len(p.frames)-1]
	if _, ok := f.hidden[name]; ok {
		return true
	}
	if v := p.vars.get(name); v != nil && v.attrs&readonly != 0 && p.isGlobal(name) {
		return false
	}
	p.ownHidden(f)
	old := p.hide(name)
	f.hidden[name] = old
	if old != nil {
		p.vars.own(name).attrs = old.attrs & exported
	}
	return true
}

// ownHidden makes ready to change what a frame hides. A subshell shares the
// frames it was born in with its parent and takes a copy first.
func (p *proc) ownHidden(f *frame) {
	switch {
	case f.hidden == nil:
		f.hidden = map[string]*variable{}
	case !p.top:
		f.hidden = maps.Clone(f.hidden)
	}
}

func (p *proc) isGlobal(name string) bool {
	for _, f := range p.frames {
		if _, ok := f.hidden[name]; ok {
			return false
		}
	}
	return true
}

// listDeclared prints what was asked for when no names were given.
func (p *proc) listDeclared(d *declaration) {
	names := p.vars.names()
	switch {
	case d.funcs:
		for _, name := range slices.Sorted(maps.Keys(p.funcs)) {
			p.declareFunc(d, name, true)
		}
		return
	case d.variant == "local" && len(p.frames) > 0:
		names = slices.Sorted(maps.Keys(p.frames[len(p.frames)-1].hidden))
	case d.add == 0 && !d.hasKind && !d.print:
		d.status = 0
		_ = p.set(nil)
		return
	}
	for _, name := range names {
		v := p.vars.get(name)
		if v != nil && v.attrs&d.add == d.add && (!d.hasKind || v.kind == d.kind) {
			p.print(p.declarationOf(v, name))
		}
	}
}

func (p *proc) declareFunc(d *declaration, name string, all bool) {
	f, ok := p.funcs[name]
	switch {
	case !ok:
		d.status = 1
	case (d.add|d.remove)&exported != 0:
		p.exportFunc(f, d.add&exported != 0)
	case d.add&readonly != 0:
	case d.names && all:
		p.print("declare -f " + name)
	case d.names:
		p.print(name)
	default:
		p.print(f.source())
	}
}

func (p *proc) printVar(d *declaration, name string) {
	v := p.vars.get(name)
	if v == nil {
		p.errorf("%s: %s: not found", d.variant, name)
		d.status = 1
		return
	}
	p.print(p.declarationOf(v, name))
}

// letters returns the attributes as the letters of declare.
func (v *variable) letters() string {
	s := ""
	switch v.kind {
	case indexed:
		s = "a"
	case assoc:
		s = "A"
	}
	for _, a := range []struct {
		bit attr
		c   string
	}{{integer, "i"}, {lower, "l"}, {nameref, "n"}, {readonly, "r"}, {upper, "u"}, {exported, "x"}} {
		if v.attrs&a.bit != 0 {
			s += a.c
		}
	}
	return s
}

// declarationOf returns the declare command that makes the variable.
func (p *proc) declarationOf(v *variable, name string) string {
	if !p.fits(6 * int(v.bytes())) {
		return ""
	}
	letters := v.letters()
	if letters == "" {
		letters = "-"
	}
	head := "declare -" + letters + " " + name
	switch {
	case v.kind == scalar && v.set:
		return head + "=" + p.doubleQuote(v.str)
	case v.kind == scalar:
		return head
	}
	if !v.set {
		return head
	}
	return head + "=" + p.literalOf(v)
}

// literalOf returns the literal of an array.
func (p *proc) literalOf(v *variable) string {
	keys, vals := v.keys(), v.values()
	var b strings.Builder
	for i, k := range keys {
		if !p.spend(64) {
			break
		}
		if v.kind == assoc && !isName(k) &&
			strings.IndexFunc(k, func(r rune) bool { return !strings.ContainsRune("0123456789.-/", r) }) >= 0 {
			k = p.doubleQuote(k)
		}
		if i > 0 && v.kind == indexed {
			b.WriteByte(' ')
		}
		b.WriteString("[" + k + "]=" + p.doubleQuote(vals[i]))
		if v.kind == assoc {
			b.WriteByte(' ')
		}
	}
	return "(" + b.String() + ")"
}

func (p *proc) doubleQuote(s string) string {
	if strings.ContainsAny(s, "\n\t\r\x1b") {
		return p.quoteANSI(s)
	}
	return `"` + p.pieces(s, escapeDouble) + `"`
}

// escapeDouble returns what stands between double quotes.
func escapeDouble(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte("\"$`\\", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
