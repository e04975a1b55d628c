package shell

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"hako/shell/pattern"
)

// mode is what a word is expanded into.
type mode uint8

const (
	toFields   mode = iota // split, and file names matched
	toString               // one string: assignments, here-documents, tests
	toPattern              // one pattern, in which quoted characters stand for themselves
	toTemplate             // the replacement of ${x/pat/replacement}
)

// An expander builds the fields of one word.
type expander struct {
	p    *proc
	mode mode
	out  []string

	cur   []byte
	spans []span // parts of cur that were quoted
	glob  bool   // cur has an unquoted * ? [ or group
	any   bool   // the field exists even if it is empty
	blank bool   // the expansion before ended in a blank separator
}

type span struct{ from, to int }

// special marks the characters that keep a literal from being taken as it is.
var special = [256]bool{'\\': true, '*': true, '?': true, '[': true, '{': true, '~': true}

// plain returns the text of a word that needs no expansion.
func plain(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch part := w.Parts[0].(type) {
	case *syntax.Lit:
		for i := range len(part.Value) {
			if special[part.Value[i]] {
				return "", false
			}
		}
		return part.Value, true
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value, true
		}
	}
	return "", false
}

// fields expands words into the words of a command.
func (p *proc) fields(words []*syntax.Word) []string {
	out := make([]string, 0, len(words)+2)
	for _, w := range words {
		if s, ok := plain(w); ok {
			out = append(out, s)
			continue
		}
		if !hasBrace(w) {
			out = p.fieldsOf(out, w)
		} else if seq, ok := onlyRange(w); ok {
			out = p.rangeFields(out, seq)
		} else {
			for alt := range p.braces(w) {
				out = p.fieldsOf(out, alt)
				if p.bad != nil || p.flow != next {
					return nil
				}
			}
		}
		if p.bad != nil {
			return nil
		}
	}
	return out
}

func (p *proc) fieldsOf(out []string, w *syntax.Word) []string {
	e := expander{p: p, out: out}
	e.parts(w.Parts, false)
	e.end()
	return e.out
}

// word expands to one string without splitting or matching file names.
func (p *proc) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	if s, ok := plain(w); ok {
		return s
	}
	e := expander{p: p, mode: toString}
	e.parts(w.Parts, false)
	return string(e.cur)
}

// assignValue is word with the tildes of an assignment.
func (p *proc) assignValue(w *syntax.Word) string {
	if s, ok := plain(w); ok {
		return s
	}
	e := expander{p: p, mode: toString}
	if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.Contains(lit.Value, "~") {
		for piece := range strings.SplitAfterSeq(lit.Value, ":") {
			e.literal(piece, strings.HasSuffix(piece, ":") || wholeTilde(w.Parts, piece))
		}
		e.parts(w.Parts[1:], false)
	} else {
		e.parts(w.Parts, false)
	}
	return string(e.cur)
}

// quoted expands parts as if they stood between double quotes.
func (p *proc) quoted(parts []syntax.WordPart) string {
	e := expander{p: p, mode: toString}
	for _, part := range parts {
		e.part(part, true)
	}
	return string(e.cur)
}

// pattern expands to a pattern.
func (p *proc) pattern(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	e := expander{p: p, mode: toPattern}
	e.parts(w.Parts, false)
	return string(e.cur)
}

// parts expands the parts of a word; only the first can start with a tilde.
func (e *expander) parts(parts []syntax.WordPart, split bool) {
	for i, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			if split {
				e.splitLiteral(lit.Value)
			} else {
				e.literal(lit.Value, i == 0 && wholeTilde(parts, lit.Value))
			}
			continue
		}
		e.part(part, false)
	}
}

// wholeTilde reports whether the name behind a leading ~ ends in the literal s:
// in ~"/x" and ~$x it does not, and nothing is expanded.
func wholeTilde(parts []syntax.WordPart, s string) bool {
	return len(parts) == 1 || strings.IndexByte(s, '/') >= 0
}

// part expands one part that is not an unquoted literal.
func (e *expander) part(part syntax.WordPart, quoted bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		e.addQuoted(unescapeDouble(part.Value))
	case *syntax.SglQuoted:
		e.any = true
		if part.Dollar {
			e.addQuoted(e.p.ansiC(part.Value))
		} else {
			e.addQuoted(part.Value)
		}
	case *syntax.DblQuoted:
		e.double(part)
	case *syntax.ParamExp:
		e.param(part, quoted)
	case *syntax.CmdSubst:
		e.add(e.p.cmdSubst(part), quoted)
	case *syntax.ArithmExp:
		e.add(itoa(e.p.expr(part.X)), quoted)
	case *syntax.ExtGlob:
		e.group(part)
	case *syntax.ProcSubst:
		e.p.refuse("<(…)", "process substitution does not exist in this shell",
			"write to a file first, or use a pipe or a here-string")
		e.p.fail("process substitution refused")
	}
}

// double expands "…". Between quotes $@ without elements leaves nothing, unless there is
// other text.
func (e *expander) double(q *syntax.DblQuoted) {
	if !slices.ContainsFunc(q.Parts, isList) {
		e.any = true
	}
	for _, part := range q.Parts {
		e.part(part, true)
	}
}

// isList reports whether a part is $@ or ${a[@]}, which may expand to no field.
func isList(part syntax.WordPart) bool {
	pe, ok := part.(*syntax.ParamExp)
	if !ok || pe.Length {
		return false
	}
	if pe.Param != nil && pe.Param.Value == "@" || pe.Names == syntax.NamesPrefixWords {
		return true
	}
	w, ok := pe.Index.(*syntax.Word)
	return ok && literalIndex(w) == "@"
}

// group adds an extended pattern.
func (e *expander) group(g *syntax.ExtGlob) {
	e.glob, e.any = true, true
	e.raw(g.Op.String())
	if parts, ok := partsOf(g.Pattern.Value); ok {
		e.alternatives(parts)
	} else {
		e.raw(g.Pattern.Value)
	}
	e.raw(")")
}

// alternatives adds what stands between the parentheses of an extended pattern.
// Fields are not split there.
func (e *expander) alternatives(parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			e.literal(part.Value, false)
		case *syntax.ParamExp:
			e.raw(e.p.word(&syntax.Word{Parts: []syntax.WordPart{part}}))
		default:
			e.part(part, false)
		}
	}
}

// add adds the result of an expansion.
func (e *expander) add(s string, quoted bool) {
	switch {
	case quoted:
		e.addQuoted(s)
	case e.mode == toFields:
		e.split(s)
	case e.mode == toTemplate:
		e.raw(templateQuote(s, false))
	default:
		e.raw(s)
	}
}

// addQuoted adds text in which nothing is special any more.
func (e *expander) addQuoted(s string) {
	switch e.mode {
	case toPattern:
		e.raw(pattern.Quote(s))
	case toTemplate:
		e.raw(templateQuote(s, true))
	case toFields:
		if s != "" {
			e.any = true
			e.spans = append(e.spans, span{len(e.cur), len(e.cur) + len(s)})
		}
		e.raw(s)
	default:
		e.raw(s)
	}
}

// unquoted adds text in which pattern characters are special.
func (e *expander) unquoted(s string) {
	e.any = true
	if !e.glob && strings.ContainsAny(s, "*?[") {
		e.glob = true
	}
	e.raw(s)
}

// checkFrom is the length from which growing strings are checked against the limit.
const checkFrom = 32 << 10

func (e *expander) raw(s string) {
	e.blank = false
	if n := len(e.cur) + len(s); n > checkFrom && n > cap(e.cur) {
		if err := e.p.ses.Limiter.Fits(int64(2 * n)); err != nil {
			e.p.bad = err
			return
		}
	}
	e.cur = append(e.cur, s...)
}

// literal adds unquoted text of the script: tildes and backslashes are special.
func (e *expander) literal(s string, tilde bool) {
	if tilde && len(s) > 0 {
		if name, _, ok := strings.Cut(s, "=~"); ok && e.mode == toFields && isName(name) {
			e.unquoted(name + "=")
			s = s[len(name)+1:]
		}
		if s[0] == '~' {
			s = e.tilde(s)
		}
	}
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			e.unquoted(s)
			return
		}
		if i > 0 {
			e.unquoted(s[:i])
		}
		s = s[i+1:]
		if s == "" {
			e.addQuoted(`\`)
			e.any = true
			return
		}
		if s[0] != '\n' {
			_, w := utf8.DecodeRuneInString(s)
			e.addQuoted(s[:w])
			e.any = true
			s = s[w:]
			continue
		}
		s = s[1:]
	}
}

// splitLiteral adds the text inside ${x:-text}, which is split like a result.
func (e *expander) splitLiteral(s string) {
	if e.mode != toFields {
		e.literal(s, false)
		return
	}
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			e.split(s)
			return
		}
		e.split(s[:i])
		_, w := utf8.DecodeRuneInString(s[i+1:])
		e.literal(s[i:i+1+w], false)
		s = s[i+1+w:]
	}
}

// tilde replaces a leading ~ and returns the rest.
func (e *expander) tilde(s string) string {
	name, _, _ := strings.Cut(s[1:], "/")
	if n := strings.IndexByte(name, ':'); n >= 0 {
		name = name[:n]
	}
	var dir string
	var ok bool
	switch name {
	case "":
		dir, ok = e.p.get("HOME")
	case "+":
		dir, ok = e.p.dir, true
	case "-":
		dir, ok = e.p.get("OLDPWD")
	case "user":
		dir, ok = "/box", true
	}
	if !ok {
		return s
	}
	e.any = true
	e.addQuoted(dir)
	return s[1+len(name):]
}

// end finishes the current field.
func (e *expander) end() {
	if e.mode != toFields {
		return
	}
	if e.any {
		if e.glob && !e.p.opts.noglob && !lonelyBracket(e.cur) {
			e.files()
		} else {
			e.out = append(e.out, string(e.cur))
		}
	}
	e.cur, e.spans, e.glob, e.any = e.cur[:0], e.spans[:0], false, false
}

// lonelyBracket reports that the only pattern character of a field is a [ that
// never closes: the command [ itself, in every turn of a loop.
func lonelyBracket(b []byte) bool {
	i := bytes.IndexByte(b, '[')
	return i >= 0 && !bytes.ContainsAny(b, "*?(") && bytes.IndexByte(b[i:], ']') < 0
}

// files replaces a pattern by the names it matches.
func (e *expander) files() {
	names := e.p.glob(e.source())
	switch {
	case len(names) > 0:
		e.out = append(e.out, names...)
	case e.p.opts.failglob:
		e.p.fail("no match: %s", e.cur)
	case !e.p.opts.nullglob:
		e.out = append(e.out, string(e.cur))
	}
}

// source returns the current field as a pattern.
func (e *expander) source() string {
	if len(e.spans) == 0 {
		return string(e.cur)
	}
	var b strings.Builder
	at := 0
	for _, s := range e.spans {
		b.Write(e.cur[at:s.from])
		b.WriteString(pattern.Quote(string(e.cur[s.from:s.to])))
		at = s.to
	}
	b.Write(e.cur[at:])
	return b.String()
}

// cmdSubst runs $(…). $(<file) reads the file.
func (p *proc) cmdSubst(c *syntax.CmdSubst) string {
	if len(c.Stmts) == 1 && c.Stmts[0].Cmd == nil && len(c.Stmts[0].Redirs) == 1 &&
		c.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		return p.slurp(c.Stmts[0].Redirs[0])
	}
	if len(c.Stmts) == 0 {
		p.substatus = 0
		return ""
	}
	return p.capture(c.Stmts)
}

func (p *proc) slurp(r *syntax.Redirect) string {
	word, err := p.redirWord(r.Word)
	if p.bad != nil {
		return ""
	}
	var d *desc
	if err == nil {
		d, err = p.opened(word, r.Op)
	}
	if err != nil {
		if stops(err) {
			p.stop(err)
		} else {
			p.errorf("%v", err)
		}
		p.substatus = 1
		return ""
	}
	defer d.release()
	g := &gathered{p: p}
	if _, err := d.r.WriteTo(g); err != nil && stops(err) {
		p.stop(err)
	}
	p.substatus = 0
	return g.text()
}

// unescapeDouble removes the backslashes that are special between double quotes.
func unescapeDouble(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
