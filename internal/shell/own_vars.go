package shell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// declClause runs declare and its like from the syntax tree.
func (p *proc) declClause(c *syntax.DeclClause) {
	d := newDeclaration(c.Variant.Value)
	p.substatus = -1
	if p.req.Check != nil {
		if err := p.req.Check(p.ctx, []string{d.variant}); err != nil {
			p.stop(err)
			return
		}
	}
	p.ses.seen.command(d.variant)
	p.status = 0
	n := 0
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Value != nil { // an option, or a word only now known
			for _, word := range p.fields([]*syntax.Word{a.Value}) {
				n += p.declareWord(d, word)
			}
		} else {
			n++
			p.declareAssign(d, a)
		}
		if p.failed() {
			return
		}
	}
	p.finish(d, n)
}

// declareWords runs declare and its like from expanded words.
func (p *proc) declareWords(variant string, args []string) error {
	d := newDeclaration(variant)
	p.status = 0
	n := 0
	for _, word := range args {
		n += p.declareWord(d, word)
	}
	p.finish(d, n)
	return asStatus(p.status)
}

// declareWord handles one expanded word and returns 1 if it was a name.
func (p *proc) declareWord(d *declaration, word string) int {
	if !d.done && len(word) > 1 && (word[0] == '-' || word[0] == '+') {
		if word == "--" {
			d.done = true
		} else if err := d.flag(word); err != nil {
			p.errorf("%s: %v", d.variant, err)
			p.status = 2
		}
		return 0
	}
	name, value, ok := strings.Cut(word, "=")
	plus := strings.HasSuffix(name, "+") && ok
	name = strings.TrimSuffix(name, "+")
	if base, _, _ := strings.Cut(name, "["); !isName(base) {
		p.errorf("%s: `%s': not a valid identifier", d.variant, word)
		p.status = 1
		return 1
	}
	p.declare(d, name, ok, func() {
		ref := reference{name: name}
		if base, sub, has := strings.Cut(name, "["); has {
			ref = reference{base, strings.TrimSuffix(sub, "]"), true}
		}
		if plus {
			value = p.appended(ref, value)
		}
		p.assignRef(ref, value)
	})
	return 1
}

// declareAssign handles one assignment of the tree.
func (p *proc) declareAssign(d *declaration, a *syntax.Assign) {
	hasValue := !a.Naked && (a.Value != nil || a.Array != nil || a.Append || true)
	if a.Array != nil && !d.hasKind {
		v := p.vars.get(a.Name.Value)
		if v == nil || v.kind == scalar {
			d2 := *d
			d2.kind, d2.hasKind = indexed, true
			d = &d2
		}
	}
	// The value is expanded before the name is made local: local x=$x.
	var text string
	if hasValue && a.Array == nil && a.Value != nil {
		text = p.assignValue(a.Value)
		if p.bad != nil {
			return
		}
	}
	var elems []newElem
	if a.Array != nil && !(d.hasKind && d.kind == assoc) {
		elems = p.elementsOf(a.Name.Value, a.Array)
	}
	p.declare(d, a.Name.Value, hasValue, func() {
		switch {
		case a.Array != nil && elems != nil && !a.Append:
			v := p.vars.own(a.Name.Value)
			v.clear()
			v.set = true
			p.fillArray(v, elems)
		case a.Array != nil:
			p.assignArray(a.Name.Value, a)
		default:
			ref := reference{name: a.Name.Value}
			if a.Index != nil {
				ref.sub, ref.index = true, p.indexText(ref.name, a.Index)
			}
			if a.Append {
				text = p.appended(ref, text)
			}
			p.assignRef(ref, text)
		}
	})
}

// declare applies a declaration to one name; set assigns its value.
func (p *proc) declare(d *declaration, name string, hasValue bool, set func()) {
	if d.funcs {
		p.declareFunc(d, name, false)
		return
	}
	if d.print && !hasValue {
		p.printVar(d.variant, name)
		return
	}
	if d.variant == "local" && len(p.frames) == 0 {
		p.errorf("local: can only be used in a function")
		p.status = 1
		return
	}
	name0, _, _ := strings.Cut(name, "[")
	if len(p.frames) > 0 && !d.global && (d.variant == "local" || d.variant == "declare" || d.variant == "typeset") {
		p.makeLocal(name0)
	}
	v := p.vars.own(name0)
	if d.hasKind && d.kind != v.kind {
		p.changeKind(v, d.kind)
	}
	if v.attrs&readonly != 0 && hasValue {
		p.errorf("%s: readonly variable", name0)
		p.status = 1
		return
	}
	if d.add&nameref != 0 {
		set()
		v.attrs |= d.add
		return
	}
	before := d.add &^ readonly
	v.attrs = (v.attrs | before) &^ d.remove
	if d.add&lower != 0 {
		v.attrs &^= upper
	}
	if d.add&upper != 0 {
		v.attrs &^= lower
	}
	if hasValue {
		set()
	}
	p.vars.own(name0).attrs |= d.add & readonly
}

func (p *proc) changeKind(v *variable, kind valueKind) {
	switch kind {
	case indexed:
		v.toList()
		v.kind = indexed
	case assoc:
		v.kind, v.table = assoc, newTable()
		v.str, v.list = "", list{}
	}
}

// makeLocal hides a variable until the innermost function ends.
func (p *proc) makeLocal(name string) {
	f := &p.frames[len(p.frames)-1]
	if _, ok := f.hidden[name]; ok {
		return
	}
	if f.hidden == nil {
		f.hidden = map[string]*variable{}
	}
	f.hidden[name] = p.hide(name)
}

// finish prints what was asked for when no names were given.
func (p *proc) finish(d *declaration, names int) {
	if names > 0 || p.status != 0 {
		return
	}
	if d.funcs {
		for _, name := range slices.Sorted(maps.Keys(p.funcs)) {
			p.declareFunc(d, name, true)
		}
		return
	}
	for _, name := range p.vars.names() {
		v := p.vars.get(name)
		if v.attrs&d.add == d.add && (!d.hasKind || v.kind == d.kind) {
			p.print(v.declaration(name))
		}
	}
}

func (p *proc) declareFunc(d *declaration, name string, all bool) {
	f, ok := p.funcs[name]
	switch {
	case !ok:
		p.status = 1
	case d.add&readonly != 0 || d.add&exported != 0:
	case d.names && all:
		p.print("declare -f " + name)
	case d.names:
		p.print(name)
	default:
		p.print(f.source())
	}
}

func (p *proc) printVar(variant, name string) {
	v := p.vars.get(name)
	if v == nil {
		p.errorf("%s: %s: not found", variant, name)
		p.status = 1
		return
	}
	p.print(v.declaration(name))
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

// declaration returns the declare command that makes the variable.
func (v *variable) declaration(name string) string {
	letters := v.letters()
	if letters == "" {
		letters = "-"
	}
	head := "declare -" + letters + " " + name
	switch {
	case v.kind == scalar && v.set:
		return head + "=" + doubleQuote(v.str)
	case v.kind == scalar:
		return head
	}
	keys, vals := v.keys(), v.values()
	if len(keys) == 0 && !v.set {
		return head
	}
	var b strings.Builder
	for i, k := range keys {
		if v.kind == assoc && !isName(k) && strings.IndexFunc(k, func(r rune) bool { return !strings.ContainsRune("0123456789.-/", r) }) >= 0 {
			k = doubleQuote(k)
		}
		if i > 0 && v.kind == indexed {
			b.WriteByte(' ')
		}
		b.WriteString("[" + k + "]=" + doubleQuote(vals[i]))
		if v.kind == assoc {
			b.WriteByte(' ')
		}
	}
	return head + "=(" + b.String() + ")"
}

func doubleQuote(s string) string {
	if strings.ContainsAny(s, "\n\t\r\x1b") {
		return quoteANSI(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if strings.IndexByte("\"$`\\", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}

func (p *proc) unset(args []string) error {
	what := byte(0)
	status := 0
	for _, arg := range args {
		switch arg {
		case "-f", "-v", "-n":
			what = arg[1]
			continue
		}
		if what == 'f' || what == 0 && p.vars.get(arg) == nil && p.funcs[arg] != nil {
			p.unsetFunc(arg)
			continue
		}
		if err := p.unsetVar(arg, what == 'n'); err != nil {
			p.errorf("unset: %v", err)
			status = 1
		}
	}
	return asStatus(status)
}

func (p *proc) unsetFunc(name string) {
	funcs := maps.Clone(p.funcs)
	delete(funcs, name)
	p.funcs, p.shared = funcs, false
}

func (p *proc) unsetVar(name string, ref bool) error {
	base, sub, element := strings.Cut(name, "[")
	if !ref {
		resolved, rsub := p.resolve(base)
		base = resolved
		if rsub != "" && !element {
			sub, element = rsub+"]", true
		}
	}
	v := p.vars.get(base)
	if v == nil {
		if !isName(base) {
			return fmt.Errorf("`%s': not a valid identifier", name)
		}
		return nil
	}
	if v.attrs&readonly != 0 {
		return fmt.Errorf("%s: cannot unset: readonly variable", base)
	}
	if !element {
		p.vars.unset(base)
		return nil
	}
	v = p.vars.own(base)
	index := strings.TrimSuffix(sub, "]")
	switch {
	case index == "@" || index == "*":
		v.clear()
	case v.kind == assoc:
		v.table.remove(strings.Trim(index, `"'`))
	default:
		n := p.arithmText(index)
		if n < 0 {
			n += v.list.top() + 1
		}
		v.list.remove(n)
	}
	return nil
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

// getopts reads the next option of the words.
func (p *proc) getopts(args []string) error {
	if len(args) < 2 {
		return ErrUsage
	}
	spec, name, words := args[0], args[1], args[2:]
	if len(args) == 2 {
		words = p.params
	}
	ind, _ := p.get("OPTIND")
	i, _ := strconv.Atoi(ind)
	if i < 1 {
		i = 1
	}
	if i != p.getoptAt {
		p.getoptAt, p.getopt = i, 0
	}
	return p.nextOption(spec, name, words, i)
}

func (p *proc) nextOption(spec, name string, words []string, i int) error {
	quiet := strings.HasPrefix(spec, ":")
	end := func(i int) error {
		p.assign("OPTIND", strconv.Itoa(i))
		p.assign(name, "?")
		p.getopt, p.getoptAt = 0, i
		return Status(1)
	}
	if i > len(words) || len(words[i-1]) < 2 || words[i-1][0] != '-' {
		return end(i)
	}
	word := words[i-1]
	if word == "--" {
		return end(i + 1)
	}
	at := p.getopt + 1
	c := word[at : at+1]
	rest := word[at+1:]
	p.getopt++
	if rest == "" {
		i, p.getopt = i+1, 0
	}
	pos := strings.Index(strings.TrimPrefix(spec, ":"), c)
	takes := pos >= 0 && strings.HasPrefix(strings.TrimPrefix(spec, ":")[pos+1:], ":")
	switch {
	case pos < 0 || c == ":":
		p.optionError(quiet, name, "?", c, "illegal option -- "+c)
	case !takes:
		p.assign(name, c)
		p.vars.unset("OPTARG")
	case rest != "":
		p.assign(name, c)
		p.assign("OPTARG", rest)
		i, p.getopt = i+1, 0
	case i > len(words):
		p.optionError(quiet, name, ":", c, "option requires an argument -- "+c)
	default:
		p.assign(name, c)
		p.assign("OPTARG", words[i-1])
		i++
	}
	p.getoptAt = i
	p.assign("OPTIND", strconv.Itoa(i))
	return nil
}

func (p *proc) optionError(quiet bool, name, mark, c, msg string) {
	if quiet {
		p.assign(name, mark)
		p.assign("OPTARG", c)
		return
	}
	p.errorf("getopts: %s", msg)
	p.assign(name, "?")
	p.vars.unset("OPTARG")
}
