package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// partsOf reads text that the parser has left alone as the parts of a word: the
// alternatives of an extended pattern, and subscripts in values. Quotes and
// parameters are read. No policy has judged this text, so it reports false where an
// expansion would run a command or set a variable, and for text that is no word.
func partsOf(s string) ([]syntax.WordPart, bool) {
	if parts, ok := textParts.get(s); ok {
		return parts, parts != nil
	}
	r := textReader{rest: s}
	ok := len(s) <= maxExpr && r.read()
	if !ok {
		r.parts = nil
	}
	if len(s) <= maxExpr {
		textParts.put(s, r.parts)
	}
	return r.parts, ok
}

// A textReader cuts text into parts.
type textReader struct {
	rest  string
	parts []syntax.WordPart
}

func (r *textReader) read() bool {
	for r.rest != "" {
		n := strings.IndexAny(r.rest, "\\'\"$`")
		if n < 0 {
			n = len(r.rest)
		}
		if n > 0 {
			r.literal(n)
			continue
		}
		if !r.special() {
			return false
		}
	}
	return true
}

func (r *textReader) take(n int) string {
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *textReader) add(part syntax.WordPart) { r.parts = append(r.parts, part) }

func (r *textReader) literal(n int) { r.add(&syntax.Lit{Value: r.take(n)}) }

// special reads what begins with a character that is special in a word.
func (r *textReader) special() bool {
	switch r.rest[0] {
	case '\\':
		r.literal(min(2, len(r.rest)))
	case '\'':
		n := strings.IndexByte(r.rest[1:], '\'')
		if n < 0 {
			return false
		}
		r.add(&syntax.SglQuoted{Value: r.take(n + 2)[1 : n+1]})
	case '"':
		n := closing(r.rest, '"')
		if n < 0 {
			return false
		}
		parts, ok := expansions(r.take(n + 1)[1:n])
		r.add(&syntax.DblQuoted{Parts: parts})
		return ok
	case '$':
		return r.dollar()
	default:
		return false
	}
	return true
}

// dollar reads a parameter.
func (r *textReader) dollar() bool {
	n := 1
	switch {
	case strings.HasPrefix(r.rest, "${"):
		if n = closing(r.rest, '}'); n < 0 {
			return false
		}
		n++
	case len(r.rest) > 1 && strings.IndexByte("@*#?-$!0123456789", r.rest[1]) >= 0:
		n = 2
	default:
		for n < len(r.rest) && (isLetter(r.rest[n]) || r.rest[n] == '_' || n > 1 && r.rest[n] >= '0' && r.rest[n] <= '9') {
			n++
		}
	}
	if n == 1 {
		r.literal(1)
		return len(r.rest) == 0 || r.rest[0] != '(' && r.rest[0] != '\''
	}
	parts, ok := expansions(r.take(n))
	r.parts = append(r.parts, parts...)
	return ok
}

// closing returns where the quotes or the brace end that s begins with, or -1.
func closing(s string, end byte) int {
	depth := 0
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '{' && i > 1 && s[i-1] == '$':
			depth++
		case s[i] == end && depth == 0:
			return i
		case s[i] == '}' && depth > 0:
			depth--
		}
	}
	return -1
}

// expansions parses text in which only expansions are special. It reports false if
// one of them runs a command or may set a variable.
func expansions(s string) ([]syntax.WordPart, bool) {
	w, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(s))
	if err != nil {
		return nil, false
	}
	ok := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.UnaryArithm, *syntax.BinaryArithm:
			ok = false
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				ok = false
			}
		}
		return ok
	})
	return w.Parts, ok
}

// referenceOf reads NAME or NAME[SUBSCRIPT], as unset, read, printf -v and ${!x} get
// it. Quotes and parameters in the key of an associative array are expanded.
func (p *proc) referenceOf(s string) reference {
	name, sub, ok := strings.Cut(s, "[")
	if !ok {
		return reference{name: s}
	}
	ref := reference{name, strings.TrimSuffix(sub, "]"), true}
	if v := p.lookup(name); v != nil && v.kind == assoc {
		if parts, ok := partsOf(ref.index); ok {
			ref.index = p.word(&syntax.Word{Parts: parts})
		}
	}
	return ref
}
