package shell

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a parameter stands for.
type value struct {
	list   []string
	isList bool // $@, $*, ${a[@]}, ${a[*]}
	star   bool // the * forms, which are joined between quotes
	set    bool
	keys   []string // subscripts of the elements, for ${!a[@]} and @A
}

func text(s string, set bool) value { return value{list: []string{s}, set: set} }

// str returns the value as one string.
func (v value) str(joiner string) string {
	if len(v.list) == 1 {
		return v.list[0]
	}
	return strings.Join(v.list, joiner)
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
	if !val.set && p.opts.nounset && !(val.isList && !pe.Length) && pe.Param.Value != "@" && pe.Param.Value != "*" && !pe.Length {
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
		return value{list: v.keys, isList: true, star: ref.index == "*", set: true}, ref
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
	name, sub, ok := strings.Cut(target, "[")
	out := reference{name: name}
	if ok && strings.HasSuffix(sub, "]") {
		out.sub, out.index = true, strings.TrimSuffix(sub, "]")
		if v := p.lookup(name); out.index != "@" && out.index != "*" && (v == nil || v.kind != assoc) {
			out.index = itoa(p.arithmText(out.index))
		}
	}
	if !isName(name) && !isSpecial(name) {
		p.fail("%s: invalid variable name", target)
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
		return value{list: list, isList: true, star: ref.index == "*", set: len(list) > 0, keys: v.keys()}
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
			list = []string{strconv.Itoa(p.status)}
		}
	case "FUNCNAME":
		for i := len(p.frames) - 1; i >= 0; i-- {
			list = append(list, p.frames[i].name)
		}
		if list != nil {
			list = append(list, "main")
		}
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
		return value{list: list, isList: true, star: ref.index == "*", set: true, keys: v.keys()}
	}
	if !ref.sub {
		s, ok := v.first()
		return text(s, ok)
	}
	s, ok := p.element(v, ref.index)
	return text(s, ok)
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
		return text("", false), true
	case "-":
		return text(p.flags(), true), true
	case "_":
		return text(p.lastArg, true), true
	case "0":
		return text("hako", true), true
	}
	if name[0] < '0' || name[0] > '9' {
		return value{}, false
	}
	n, err := strconv.Atoi(name)
	if err != nil || n > len(p.params) {
		return text("", false), true
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
	switch x := x.(type) {
	case *syntax.Word:
		return p.word(x)
	case *syntax.BinaryArithm:
		return p.keyText(x.X) + x.Op.String() + p.keyText(x.Y)
	case *syntax.UnaryArithm:
		if x.Post {
			return p.keyText(x.X) + x.Op.String()
		}
		return x.Op.String() + p.keyText(x.X)
	case *syntax.ParenArithm:
		return "(" + p.keyText(x.X) + ")"
	}
	return ""
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
	if w == nil {
		return
	}
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
		e.part(part, true)
	}
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
		e.add(strings.Join(v.list, e.p.joiner()), quoted)
	case e.mode != toFields:
		e.add(strings.Join(v.list, " "), quoted)
	default:
		e.elements(v.list, quoted)
	}
}

// elements adds each element as a field of its own; the first joins what
// stands before, the last what follows.
func (e *expander) elements(list []string, quoted bool) {
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

// transform applies the operators that change a value.
func (p *proc) transform(pe *syntax.ParamExp, ref reference, v value) value {
	switch {
	case pe.Length:
		return text(strconv.Itoa(p.length(v)), true)
	case pe.Slice != nil:
		return p.slice(pe, ref, v)
	case pe.Repl != nil:
		return p.replace(pe.Repl, v)
	case pe.Exp == nil:
		return v
	case pe.Exp.Op == syntax.OtherParamOps:
		return p.atOperator(pe, ref, v)
	}
	if !v.set && !v.isList {
		return v
	}
	pat := p.pattern(pe.Exp.Word)
	if p.bad != nil {
		return v
	}
	return v.each(func(s string) string { return p.cut(pe.Exp.Op, s, pat) })
}

func (v value) each(f func(string) string) value {
	out := v
	out.list = make([]string, len(v.list))
	for i, s := range v.list {
		out.list[i] = f(s)
	}
	return out
}

func (p *proc) length(v value) int {
	if v.isList {
		return len(v.list)
	}
	return utf8.RuneCountInString(v.str(""))
}

// cut applies # ## % %% ^ ^^ , ,, .
func (p *proc) cut(op syntax.ParExpOperator, s, pat string) string {
	switch op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		if n := p.compile(pat, p.opts.nocasematch).Prefix(s, op == syntax.RemLargePrefix); n >= 0 {
			return s[n:]
		}
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		if n := p.compile(pat, p.opts.nocasematch).Suffix(s, op == syntax.RemLargeSuffix); n >= 0 {
			return s[:n]
		}
	case syntax.UpperFirst:
		return p.recase(s, pat, true, unicode.ToUpper)
	case syntax.UpperAll:
		return p.recase(s, pat, false, unicode.ToUpper)
	case syntax.LowerFirst:
		return p.recase(s, pat, true, unicode.ToLower)
	case syntax.LowerAll:
		return p.recase(s, pat, false, unicode.ToLower)
	}
	return s
}

// recase changes the case of the characters that match pat, or of all.
func (p *proc) recase(s, pat string, firstOnly bool, to func(rune) rune) string {
	if pat == "" {
		pat = "?"
	}
	match := p.compile(pat, false)
	first := true
	return strings.Map(func(r rune) rune {
		if !first && firstOnly {
			return r
		}
		first = false
		if match.Match(string(r)) {
			return to(r)
		}
		return r
	}, s)
}

// replace applies ${x/pat/text} and its like.
func (p *proc) replace(r *syntax.Replace, v value) value {
	pat, with := p.pattern(r.Orig), p.replacement(r.With)
	if p.bad != nil {
		return v
	}
	anchor := byte(0)
	if !r.All && pat != "" && (pat[0] == '#' || pat[0] == '%') {
		anchor, pat = pat[0], pat[1:]
	}
	if pat == "" && anchor == 0 {
		return v
	}
	m := p.compile(pat, p.opts.nocasematch)
	return v.each(func(s string) string {
		switch anchor {
		case '#':
			if n := m.Prefix(s, true); n >= 0 {
				return with.expand(s[:n]) + s[n:]
			}
			return s
		case '%':
			if n := m.Suffix(s, true); n >= 0 {
				return s[:n] + with.expand(s[n:])
			}
			return s
		}
		return p.substitute(s, m, with, r.All)
	})
}

// template is a replacement: & stands for what was matched, and a backslash
// takes the meaning from the character behind it.
type template string

func (t template) expand(match string) string {
	if strings.IndexAny(string(t), `\&`) < 0 {
		return string(t)
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == '&':
			b.WriteString(match)
		case t[i] == '\\' && i+1 < len(t):
			i++
			b.WriteByte(t[i])
		default:
			b.WriteByte(t[i])
		}
	}
	return b.String()
}

func (p *proc) replacement(w *syntax.Word) template {
	if w == nil {
		return ""
	}
	e := expander{p: p, mode: toTemplate}
	e.parts(w.Parts, false)
	return template(e.cur)
}

// templateQuote takes the meaning from & and backslash in text that was quoted;
// in other text only a backslash before & is special.
func templateQuote(s string, quoted bool) string {
	if strings.IndexAny(s, `\&`) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		amp := i+1 < len(s) && s[i+1] == '&'
		if s[i] == '&' && quoted || s[i] == '\\' && (quoted || !amp) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
		if s[i] == '\\' && amp && !quoted {
			i++
			b.WriteByte('&')
		}
	}
	return b.String()
}

type finder interface{ Find(string, int) (int, int) }

func (p *proc) substitute(s string, m finder, with template, all bool) string {
	var b strings.Builder
	at := 0
	for at <= len(s) {
		i, j := m.Find(s, at)
		if i < 0 {
			break
		}
		b.WriteString(s[at:i])
		b.WriteString(with.expand(s[i:j]))
		if b.Len() > checkFrom {
			if err := p.ses.Gauge.Fits(int64(2 * b.Len())); err != nil {
				p.bad = err
				return ""
			}
		}
		if j == i { // an empty match: go on behind the next character
			if i >= len(s) {
				at = len(s)
				break
			}
			_, w := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+w])
			j = i + w
		}
		at = j
		if !all {
			break
		}
	}
	b.WriteString(s[min(at, len(s)):])
	return b.String()
}

// slice applies ${x:offset:length}.
func (p *proc) slice(pe *syntax.ParamExp, ref reference, v value) value {
	offset, n := int64(0), int64(-1)
	if pe.Slice.Offset != nil {
		offset = p.arithm(pe.Slice.Offset)
	}
	hasLen := pe.Slice.Length != nil
	if hasLen {
		n = p.arithm(pe.Slice.Length)
	}
	if p.bad != nil {
		return v
	}
	if v.isList {
		return p.sliceList(ref, v, offset, n, hasLen)
	}
	return text(p.sliceText(v.str(""), offset, n, hasLen), v.set)
}

func (p *proc) sliceText(s string, offset, n int64, hasLen bool) string {
	ascii := isASCII(s)
	size := int64(len(s))
	if !ascii {
		size = int64(utf8.RuneCountInString(s))
	}
	if offset < 0 {
		offset += size
	}
	if offset < 0 || offset > size {
		return ""
	}
	end := size
	switch {
	case hasLen && n < 0:
		if end = size + n; end < offset {
			p.fail("%d: substring expression < 0", n)
			return ""
		}
	case hasLen && n < size-offset:
		end = offset + n
	}
	if ascii {
		return s[offset:end]
	}
	return string([]rune(s)[offset:end])
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sliceList cuts a list of elements; $@ counts from $0.
func (p *proc) sliceList(ref reference, v value, offset, n int64, hasLen bool) value {
	list := v.list
	if !ref.sub {
		list = append([]string{"hako"}, list...)
	}
	size := int64(len(list))
	if ref.sub && v.keys != nil && len(v.keys) > 0 {
		if sparse := p.sparseStart(ref, v, offset); sparse >= 0 {
			offset = sparse
		}
	} else if offset < 0 {
		offset += size
	}
	if hasLen && n < 0 {
		p.fail("%d: substring expression < 0", n)
		return v
	}
	if offset < 0 || offset >= size {
		v.list = nil
		return v
	}
	end := size
	if hasLen && n < size-offset {
		end = offset + n
	}
	v.list = list[offset:end]
	return v
}

// sparseStart finds the position of the first element whose index is at least offset.
func (p *proc) sparseStart(ref reference, v value, offset int64) int64 {
	a := p.lookup(ref.name)
	if a == nil || a.kind != indexed {
		return max(offset, -1)
	}
	if offset < 0 {
		if offset += a.list.top() + 1; offset < 0 {
			return int64(len(v.list))
		}
	}
	at, _ := a.list.find(offset)
	return int64(at)
}

// atOperator applies ${x@Q} and its like.
func (p *proc) atOperator(pe *syntax.ParamExp, ref reference, v value) value {
	op := literalIndex(pe.Exp.Word)
	switch op {
	case "Q":
		if !v.set {
			return v
		}
		return v.each(quoteAlways)
	case "E":
		return v.each(ansiC)
	case "U":
		return v.each(strings.ToUpper)
	case "L":
		return v.each(strings.ToLower)
	case "u":
		return v.each(func(s string) string { return p.recase(s, "", true, unicode.ToUpper) })
	case "A", "a", "K", "k":
		return p.describe(op, ref, v)
	case "P":
		p.refuse("${"+ref.name+"@P}", "expanding a value as a prompt would run what is written in it", "use the value itself")
		p.fail("prompt expansion refused")
		return v
	}
	p.fail("%s: bad substitution", printNode(pe))
	return v
}

func (p *proc) describe(op string, ref reference, v value) value {
	a := p.lookup(ref.name)
	if a == nil {
		return value{}
	}
	switch op {
	case "a":
		return text(a.letters(), true)
	case "A":
		if a.kind == scalar && a.attrs == 0 {
			return text(ref.name+"="+quoteAlways(a.str), a.set)
		}
		return text(a.declaration(ref.name), true)
	}
	var out []string
	for i, k := range v.keys {
		out = append(out, k, quoteAlways(v.list[i]))
	}
	if op == "k" {
		return value{list: out, isList: true, set: true}
	}
	return text(strings.Join(out, " "), true)
}
