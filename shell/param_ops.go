package shell

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// transform applies the operators that change a value.
func (p *proc) transform(pe *syntax.ParamExp, ref reference, v value) value {
	switch {
	case pe.Length:
		return text(strconv.Itoa(p.length(v)), true)
	case pe.Slice != nil:
		return p.slice(pe, ref, v)
	case pe.Repl != nil && (v.set || v.isList):
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
	return p.each(v, func(s string) string { return p.cut(pe.Exp.Op, s, pat) })
}

// each changes every element. Once the script has to stop, the rest is left out.
func (p *proc) each(v value, f func(string) string) value {
	out := v
	if !p.fits(16 * len(v.list)) {
		return out
	}
	out.list = make([]string, len(v.list))
	for i, s := range v.list {
		if !p.spend(32) {
			return out
		}
		out.list[i] = f(s)
	}
	return out
}

// pieceSize is how much of a long value is worked on between two looks at the clock.
const pieceSize = 32 << 10

// pieces applies f to a long value piece by piece. Pieces end between characters.
func (p *proc) pieces(s string, f func(string) string) string {
	if len(s) <= pieceSize {
		return f(s)
	}
	if !p.fits(2 * len(s)) {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 && p.spend(4*pieceSize) {
		n := min(len(s), pieceSize)
		for n < len(s) && n > pieceSize-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		if done := f(s[:n]); p.fits(2 * (b.Len() + len(done))) {
			b.WriteString(done)
		}
		s = s[n:]
	}
	return b.String()
}

func (p *proc) length(v value) int {
	if v.isList {
		return len(v.list)
	}
	s := v.str("")
	if p.bytewise(s) {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

// bytewise reports whether the bytes of s are its characters.
func (p *proc) bytewise(s string) bool {
	if isASCII(s) {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale, _ := p.get(name); locale != "" {
			return locale == "C" || locale == "POSIX"
		}
	}
	return false
}

// cut applies # ## % %% ^ ^^ , ,, .
func (p *proc) cut(op syntax.ParExpOperator, s, pat string) string {
	if !p.fits(8 * len(s)) { // sets of positions
		return s
	}
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
	change := to
	if pat != "" && pat != "?" {
		match := p.compile(pat, false)
		change = func(r rune) rune {
			if p.spend(16) && match.Match(string(r)) {
				return to(r)
			}
			return r
		}
	}
	if !firstOnly {
		return p.pieces(s, func(s string) string { return strings.Map(change, s) })
	}
	_, w := utf8.DecodeRuneInString(s)
	return strings.Map(change, s[:w]) + s[w:]
}

// replace applies ${x/pat/text} and its like.
func (p *proc) replace(r *syntax.Replace, v value) value {
	orig, replacement := r.Orig, r.With
	if r.All && emptyWord(orig) { // ${x////-}: the pattern may begin with a slash
		orig, replacement = cutSlash(replacement)
	}
	pat, with := p.pattern(orig), p.replacement(replacement)
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
	return p.each(v, func(s string) string {
		if !p.fits(8 * len(s)) { // sets of positions
			return s
		}
		switch anchor {
		case '#':
			if n := m.Prefix(s, true); n >= 0 && p.fits(2*(with.size(s[:n])+len(s))) {
				return with.expand(s[:n]) + s[n:]
			}
			return s
		case '%':
			if n := m.Suffix(s, true); n >= 0 && p.fits(2*(with.size(s[n:])+len(s))) {
				return s[:n] + with.expand(s[n:])
			}
			return s
		}
		return p.substitute(s, m.Finder(s), with, r.All)
	})
}

func emptyWord(w *syntax.Word) bool { return w == nil || len(w.Parts) == 0 }

// cutSlash cuts a word at its first slash, and puts one before the first part.
func cutSlash(w *syntax.Word) (before, after *syntax.Word) {
	before = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "/"}}}
	if w == nil {
		return before, nil
	}
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			before.Parts = append(before.Parts, part)
			continue
		}
		left, right, found := strings.Cut(lit.Value, "/")
		before.Parts = append(before.Parts, &syntax.Lit{Value: left})
		if found {
			rest := append([]syntax.WordPart{&syntax.Lit{Value: right}}, w.Parts[i+1:]...)
			return before, &syntax.Word{Parts: rest}
		}
	}
	return before, nil
}

// template is a replacement: & stands for what was matched, and a backslash
// takes the meaning from the character behind it.
type template string

// size returns how long the text for a match is at most.
func (t template) size(match string) int {
	return len(t) + strings.Count(string(t), "&")*len(match)
}

func (t template) expand(match string) string {
	if !strings.ContainsAny(string(t), `\&`) {
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
	if !strings.ContainsAny(s, `\&`) {
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

type finder interface{ Find(from int) (int, int) }

func (p *proc) substitute(s string, m finder, with template, all bool) string {
	var b strings.Builder
	at := 0
	for at <= len(s) {
		i, j := m.Find(at)
		if i < 0 {
			break
		}
		size := i - at + with.size(s[i:j])
		if !p.spend(size+64) || !p.fits(2*(b.Len()+size)) {
			return ""
		}
		b.WriteString(s[at:i])
		b.WriteString(with.expand(s[i:j]))
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
		if !all || at >= len(s) { // nothing is matched behind the last character
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
	bytewise := p.bytewise(s)
	size := int64(len(s))
	if !bytewise {
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
	if bytewise {
		return s[offset:end]
	}
	from := p.byteOf(s, offset)
	return s[from : from+p.byteOf(s[from:], end-offset)]
}

// byteOf returns where the n-th character of s starts.
func (p *proc) byteOf(s string, n int64) int {
	at := 0
	for ; n > 0 && at < len(s) && p.spend(2); n-- {
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
	}
	return at
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
		list = append([]string{p.argv0}, list...)
	}
	size := int64(len(list))
	if v.of != nil && v.of.kind == assoc { // bash counts these from 1
		if offset > 0 {
			offset--
		} else if offset < 0 {
			offset = max(0, offset+size)
		}
	} else if ref.sub && v.of != nil && len(list) > 0 {
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
		return p.each(v, p.quoteAlways)
	case "E":
		return p.each(v, p.ansiC)
	case "U":
		return p.each(v, func(s string) string { return p.pieces(s, strings.ToUpper) })
	case "L":
		return p.each(v, func(s string) string { return p.pieces(s, strings.ToLower) })
	case "u":
		return p.each(v, func(s string) string { return p.recase(s, "", true, unicode.ToUpper) })
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
		return p.each(v, func(string) string { return a.letters() })
	case "A":
		if a.kind != scalar {
			return text(p.declarationOf(a, ref.name), true)
		}
		head := ""
		if a.attrs != 0 {
			head = "declare -" + a.letters() + " "
		}
		return text(head+ref.name+"="+p.quoteAlways(a.str), a.set)
	case "k":
		return value{list: pairs(v, func(s string) string { return s }), isList: true, set: true}
	}
	out := strings.Join(pairs(v, p.doubleQuote), " ")
	if a.kind == assoc {
		out += " "
	}
	return text(out, true)
}

// pairs returns subscripts and values in turn.
func pairs(v value, quote func(string) string) []string {
	var out []string
	for i, k := range v.keys() {
		out = append(out, k, quote(v.list[i]))
	}
	return out
}
