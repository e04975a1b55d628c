package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a parameter stands for.
type value struct {
	list   []string
	isList bool // $@, $*, ${a[@]}, ${a[*]}
	star   bool // the * forms, which are joined between quotes
	set    bool
	of     *variable // the array whose elements these are, for ${!a[@]} and @A
}

func text(s string, set bool) value { return value{list: []string{s}, set: set} }

// str returns the value as one string.
func (v value) str(joiner string) string {
	if len(v.list) == 1 {
		return v.list[0]
	}
	return strings.Join(v.list, joiner)
}

// keys returns the subscripts of the elements.
func (v value) keys() []string {
	if v.of == nil {
		return nil
	}
	return v.of.keys()
}

// null reports whether the value counts as empty for the forms with a colon.
func (v value) null() bool { return len(v.list) == 0 || len(v.list) == 1 && v.list[0] == "" }

// param expands $x and ${…}.
func (e *expander) param(pe *syntax.ParamExp, quoted bool) {
	p := e.p
	if pe.Short && pe.Index == nil && pe.Exp == nil {
		if v := p.vars.get(pe.Param.Value); v != nil && v.kind == scalar && v.set && v.attrs&nameref == 0 {
			e.add(v.str, quoted)
			return
		}
	}
	if pe.Param == nil || pe.NestedParam != nil || pe.Flags != nil || pe.Width || pe.IsSet {
		p.fail("%s: bad substitution", printNode(pe))
		return
	}
	val, ref := p.parameter(pe)
	if p.bad != nil {
		return
	}
	if pe.Exp != nil && pe.Exp.Op <= syntax.AssignUnsetOrNull {
		e.alternative(pe, ref, val, quoted)
		return
	}
	if !val.set && p.opts.nounset && !val.isList {
		p.bad = stopper{errorString(ref.String() + ": unbound variable"), 127}
		return
	}
	e.emit(p.transform(pe, ref, val), quoted)
}

type errorString string

func (e errorString) Error() string { return string(e) }

// reference is a variable and, perhaps, a subscript.
type reference struct {
	name  string
	index string
	sub   bool
}

func (r reference) String() string {
	if r.sub {
		return r.name + "[" + r.index + "]"
	}
	return r.name
}

// parameter returns the value before any operator is applied.
func (p *proc) parameter(pe *syntax.ParamExp) (value, reference) {
	ref := reference{name: pe.Param.Value}
	if pe.Index != nil {
		ref.sub = true
		ref.index = p.indexText(ref.name, pe.Index)
	}
	if !pe.Excl {
		return p.fetch(ref), ref
	}
	if pe.Names != 0 {
		return p.namesWith(ref.name, pe.Names == syntax.NamesPrefix), ref
	}
	if ref.index == "@" || ref.index == "*" {
		v := p.fetch(ref)
		return value{list: v.keys(), isList: true, star: ref.index == "*", set: true}, ref
	}
	return p.indirect(ref)
}

// indirect returns what ${!x} names.
func (p *proc) indirect(ref reference) (value, reference) {
	if v := p.vars.get(ref.name); v != nil && v.attrs&nameref != 0 && !ref.sub {
		return text(v.str, true), ref
	}
	v := p.fetch(ref)
	target := v.str(" ")
	if target == "" {
		p.fail("%s: invalid indirect expansion", ref)
		return value{}, ref
	}
	out := p.referenceOf(target)
	if v := p.lookup(out.name); out.sub && out.index != "@" && out.index != "*" && (v == nil || v.kind != assoc) {
		out.index = itoa(p.arithmText(out.index))
	}
	if !isName(out.name) && !isSpecial(out.name) {
		p.fail("%s: invalid variable name", target)
		return value{}, ref
	}
	return p.fetch(out), out
}

func (p *proc) namesWith(prefix string, star bool) value {
	var out []string
	for _, name := range p.vars.names() {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return value{list: out, isList: true, star: star, set: true}
}

// fetch returns the value of a variable or special parameter.
func (p *proc) fetch(ref reference) value {
	name := ref.name
	if !ref.sub {
		if v, ok := p.specialParam(name); ok {
			return v
		}
	}
	if base, sub := p.resolve(name); base != name || sub != "" {
		name = base
		if sub != "" && !ref.sub {
			ref.sub, ref.index = true, sub
		}
	}
	v := p.vars.get(name)
	if v == nil {
		return p.computed(name, ref)
	}
	if !ref.sub {
		s, ok := v.first()
		return text(s, ok)
	}
	switch ref.index {
	case "@", "*":
		list := v.values()
		return value{list: list, isList: true, star: ref.index == "*", set: len(list) > 0, of: v}
	}
	s, ok := p.element(v, ref.index)
	return text(s, ok)
}

// computed returns the variables that exist only when they are read.
func (p *proc) computed(name string, ref reference) value {
	var list []string
	switch name {
	case "PIPESTATUS":
		for _, n := range p.pipeStatus {
			list = append(list, strconv.Itoa(n))
		}
		if list == nil {
			list = []string{strconv.Itoa(p.oneStatus)}
		}
	case "FUNCNAME":
		for i := len(p.frames) - 1; i >= 0; i-- {
			list = append(list, p.frames[i].name)
		}
		if list != nil && p.frames[0].file != "" {
			list = append(list, "main")
		}
	case "BASH_SOURCE":
		list = p.sourceFiles()
	case "BASH_VERSINFO":
		list = []string{"5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"}
	case "BASH_LINENO":
		for i := len(p.frames) - 1; i >= 0; i-- {
			list = append(list, strconv.Itoa(int(p.frames[i].line)))
		}
	case "DIRSTACK":
		list = append([]string{p.dir}, p.stack...)
	default:
		s, ok := p.dynamic(name)
		if ref.sub && (ref.index == "@" || ref.index == "*") && !ok {
			return value{isList: true, star: ref.index == "*"}
		}
		return text(s, ok)
	}
	v := &variable{kind: indexed, set: true, list: listOf(list)}
	if ref.sub && (ref.index == "@" || ref.index == "*") {
		return value{list: list, isList: true, star: ref.index == "*", set: true, of: v}
	}
	if !ref.sub {
		s, ok := v.first()
		return text(s, ok)
	}
	s, ok := p.element(v, ref.index)
	return text(s, ok)
}

// sourceFiles returns the files that the active functions come from.
func (p *proc) sourceFiles() []string {
	if p.file == "" && len(p.frames) == 0 {
		return nil
	}
	list := []string{p.file}
	for i := len(p.frames) - 1; i >= 0; i-- {
		list = append(list, p.frames[i].file)
	}
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	for i, file := range list {
		if file == "" {
			list[i] = "environment"
		}
	}
	return list
}

func listOf(vals []string) list { return list{vals: vals} }

// element returns one element by its subscript.
func (p *proc) element(v *variable, index string) (string, bool) {
	if v.kind == assoc {
		s, ok := v.table.vals[index]
		return s, ok
	}
	n, err := strconv.ParseInt(index, 10, 64)
	if err != nil {
		n = p.arithmText(index)
	}
	if v.kind == scalar {
		return v.str, v.set && (n == 0 || n == -1)
	}
	if n < 0 {
		n += v.list.top() + 1
	}
	if n < 0 {
		p.errorf("bad array subscript")
		return "", false
	}
	return v.list.get(n)
}

// specialParam returns $@, $#, $?, $1 and their like.
func (p *proc) specialParam(name string) (value, bool) {
	switch name {
	case "@", "*":
		return value{list: p.params, isList: true, star: name == "*", set: len(p.params) > 0}, true
	case "#":
		return text(strconv.Itoa(len(p.params)), true), true
	case "?":
		return text(strconv.Itoa(p.status), true), true
	case "$":
		return text("1", true), true
	case "!":
		if p.lastJob == 0 {
			return text("", false), true
		}
		return text(strconv.Itoa(p.lastJob), true), true
	case "-":
		return text(p.flags(), true), true
	case "_":
		return text(p.lastArg, true), true
	case "0":
		return text(p.argv0, true), true
	}
	if name == "" || name[0] < '0' || name[0] > '9' {
		return value{}, false
	}
	n, err := strconv.Atoi(name)
	switch {
	case err != nil || n > len(p.params):
		return text("", false), true
	case n == 0: // ${00}
		return text(p.argv0, true), true
	}
	return text(p.params[n-1], true), true
}

func isSpecial(name string) bool {
	return len(name) == 1 && strings.Contains("@*#?$!-_", name) || name != "" && name[0] >= '0' && name[0] <= '9'
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && !isLetter(c) && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// indexText returns a subscript: the key of an associative array, the number
// of an indexed one, or @ and *.
func (p *proc) indexText(name string, x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		if s := literalIndex(w); s == "@" || s == "*" {
			return s
		}
	}
	base, _ := p.resolve(name)
	if v := p.vars.get(base); v != nil && v.kind == assoc {
		return p.keyText(x)
	}
	return itoa(p.arithm(x))
}

func literalIndex(w *syntax.Word) string {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok {
			return lit.Value
		}
	}
	return ""
}

// keyText reads a subscript as the key of an associative array, undoing what
// the parser saw as arithmetic.
func (p *proc) keyText(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok {
		return p.word(w)
	}
	var b strings.Builder
	p.writeKey(&b, x)
	return b.String()
}

func (p *proc) writeKey(b *strings.Builder, x syntax.ArithmExpr) {
	if x == nil || !p.deeper() {
		return
	}
	defer p.shallower()
	switch x := x.(type) {
	case *syntax.Word:
		if s := p.word(x); p.fits(2 * (b.Len() + len(s))) {
			b.WriteString(s)
		}
	case *syntax.BinaryArithm:
		p.writeKey(b, x.X)
		b.WriteString(x.Op.String())
		p.writeKey(b, x.Y)
	case *syntax.UnaryArithm:
		if !x.Post {
			b.WriteString(x.Op.String())
		}
		p.writeKey(b, x.X)
		if x.Post {
			b.WriteString(x.Op.String())
		}
	case *syntax.ParenArithm:
		b.WriteByte('(')
		p.writeKey(b, x.X)
		b.WriteByte(')')
	}
}

// alternative applies - + ? = and their colon forms.
func (e *expander) alternative(pe *syntax.ParamExp, ref reference, val value, quoted bool) {
	missing := !val.set
	switch pe.Exp.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		missing = missing || val.null()
	}
	if pe.Length {
		e.emit(e.p.transform(pe, ref, val), quoted)
		return
	}
	switch pe.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !missing {
			e.inner(pe.Exp.Word, quoted)
		}
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if missing {
			e.inner(pe.Exp.Word, quoted)
		} else {
			e.emit(val, quoted)
		}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if missing {
			e.p.missing(ref, pe.Exp.Word)
			return
		}
		e.emit(val, quoted)
	default:
		if missing {
			s := e.p.word(pe.Exp.Word)
			if !isName(ref.name) {
				e.p.fail("$%s: cannot assign in this way", ref.name)
				return
			}
			e.p.assignRef(ref, s)
			val = text(s, true)
		}
		e.emit(val, quoted)
	}
}

// missing reports ${x:?text}.
func (p *proc) missing(ref reference, w *syntax.Word) {
	msg := p.word(w)
	if msg == "" {
		msg = "parameter null or not set"
	}
	p.bad = stopper{errorString(ref.String() + ": " + msg), 127}
}

// inner expands the word of ${x:-word} in its own quoting.
func (e *expander) inner(w *syntax.Word, quoted bool) {
	if quoted && (emptyWord(w) || !slices.ContainsFunc(w.Parts, isList)) {
		e.any = true // "${@:+}" is an empty field
	}
	if w == nil || !e.p.deeper() {
		return
	}
	defer e.p.shallower()
	if !quoted {
		if len(w.Parts) > 0 && e.mode == toFields {
			if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
				e.literal(lit.Value, true)
				e.parts(w.Parts[1:], true)
				return
			}
		}
		e.parts(w.Parts, true)
		return
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			e.addQuoted(unescapeInner(lit.Value))
			continue
		}
		if q, ok := part.(*syntax.SglQuoted); ok && !q.Dollar {
			e.literalQuotes(q.Value)
			continue
		}
		e.part(part, true)
	}
}

// literalQuotes adds '…' as it stands inside "${x:-…}": the quotes are plain
// characters there, and what they hold is expanded.
func (e *expander) literalQuotes(s string) {
	e.addQuoted("'")
	if len(s) > maxExpr {
		e.addQuoted(s + "'")
		return
	}
	w, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(s))
	if err != nil {
		e.addQuoted(s)
	} else if w != nil { // there is no word for no text
		for _, part := range w.Parts {
			e.part(part, true)
		}
	}
	e.addQuoted("'")
}

// unescapeInner is unescapeDouble for text inside "${x:-text}", where a brace
// can be escaped too.
func unescapeInner(s string) string {
	return strings.ReplaceAll(unescapeDouble(s), `\}`, "}")
}

// emit adds a value to the word.
func (e *expander) emit(v value, quoted bool) {
	if !v.isList {
		if len(v.list) > 0 {
			e.add(v.list[0], quoted)
		}
		return
	}
	switch {
	case quoted && v.star || e.mode != toFields && v.star:
		e.add(e.p.joined(v.list, e.p.joiner()), quoted)
	case e.mode != toFields:
		e.add(e.p.joined(v.list, " "), quoted)
	default:
		e.elements(v.list, quoted)
	}
}

// joined returns the elements as one string, if there is room for it.
func (p *proc) joined(list []string, joiner string) string {
	size := len(list) * len(joiner)
	for _, s := range list {
		size += len(s)
	}
	if !p.fits(2 * size) {
		return ""
	}
	return strings.Join(list, joiner)
}

// elements adds each element as a field of its own; the first joins what
// stands before, the last what follows. Unquoted elements are joined by the first
// character of IFS and split again: only blanks drop empty elements.
func (e *expander) elements(list []string, quoted bool) {
	if sep := e.p.joiner(); !quoted && sep != "" && e.p.ifs() != &defaultIFS {
		e.split(e.p.joined(list, sep))
		return
	}
	for i, s := range list {
		if i > 0 {
			e.end()
			if i&1023 == 0 && !e.room() {
				return
			}
		}
		if quoted {
			e.any = true
		}
		e.add(s, quoted)
	}
}
