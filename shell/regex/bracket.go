package regex

import (
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	anySet   = newSet([]rune{0, maxChar})
	wordSet  = sync.OnceValue(func() *set { return mustClass("word") }) // a thousand ranges: made when first needed
	spaceSet = sync.OnceValue(func() *set { return mustClass("space") })
)

func mustClass(name string) *set {
	pairs, _ := classPairs(name)
	return newSet(pairs)
}

// bracket reads a bracket expression whose [ is taken already.
func (p *parser) bracket() (*node, error) {
	start := p.pos
	for _, old := range p.brackets {
		if old.fold == p.Fold && p.take(old.text) {
			return old.node, nil
		}
	}
	n, err := p.newBracket()
	if err != nil {
		return nil, err
	}
	if p.Hold != nil && len(n.set.pairs) > 64 {
		if err := p.Hold(16 * int64(len(n.set.pairs))); err != nil {
			return nil, err
		}
	}
	if len(p.brackets) < 16 {
		p.brackets = append(p.brackets, seenBracket{p.src[start:p.pos], p.Fold, n})
	}
	return n, nil
}

// A seenBracket is the text of a bracket expression up to its end, and what it
// became. Where the same text comes again it means the same.
type seenBracket struct {
	text string
	fold bool
	node *node
}

func (p *parser) newBracket() (*node, error) {
	negated := p.take("^")
	var pairs []rune
	for first := true; ; first = false {
		if !p.more() {
			return nil, errBracket
		}
		if !first && p.take("]") {
			break
		}
		more, err := p.bracketItem()
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, more...)
	}
	if p.Fold {
		pairs = foldPairs(pairs)
	}
	s := newSet(pairs)
	if negated {
		s = s.negate()
	}
	return &node{op: opSet, set: s}, nil
}

// bracketItem reads a class, a character or a range.
func (p *parser) bracketItem() ([]rune, error) {
	if p.take("[:") {
		name, err := p.until(":]")
		if err != nil {
			return nil, err
		}
		if p.Fold && (name == "upper" || name == "lower") {
			name = "alpha"
		}
		pairs, ok := classPairs(strings.TrimPrefix(name, "^"))
		if !ok || strings.HasPrefix(name, "^") && p.Syntax != Perl {
			return nil, errClass
		}
		if name[0] == '^' {
			return newSet(pairs).negate().pairs, nil
		}
		return pairs, nil
	}
	lo, class, err := p.bracketChar()
	if err != nil || class != nil {
		return class, err
	}
	if !p.at("-") || p.at("-]") || p.pos+1 >= len(p.src) {
		return []rune{lo, lo}, nil
	}
	p.pos++
	hi, class, err := p.bracketChar()
	switch {
	case err != nil:
		return nil, err
	case class != nil:
		return append(class, lo, lo, '-', '-'), nil
	case hi < lo:
		return nil, errRange
	}
	return []rune{lo, hi}, nil
}

// bracketChar reads one end of a range, or a class by escape where the syntax has those.
func (p *parser) bracketChar() (r rune, class []rune, err error) {
	if !p.more() {
		return 0, nil, errBracket
	}
	for _, mark := range []string{".", "="} {
		if p.take("[" + mark) {
			name, err := p.until(mark + "]")
			if err != nil {
				return 0, nil, err
			}
			r, w := utf8.DecodeRuneInString(name)
			if w != len(name) || name == "" {
				return 0, nil, errCollate
			}
			return r, nil, nil
		}
	}
	if p.at("\\") && (p.Syntax == Perl || p.BracketEscapes) && p.pos+1 < len(p.src) {
		p.pos++
		return p.bracketEscape()
	}
	return p.char(), nil, nil
}

func (p *parser) until(end string) (string, error) {
	i := strings.Index(p.src[p.pos:], end)
	if i < 0 {
		return "", errBracket
	}
	s := p.src[p.pos : p.pos+i]
	p.pos += i + len(end)
	return s, nil
}

func (p *parser) bracketEscape() (rune, []rune, error) {
	if p.Syntax != Perl {
		return p.char(), nil, nil
	}
	start := p.pos
	if p.take("b") {
		return '\b', nil, nil
	}
	n, err := p.perlEscape()
	if err != nil {
		return 0, nil, err
	}
	if n.op != opSet {
		p.pos = start
		return p.char(), nil, nil
	}
	if r, ok := n.set.one(); ok {
		return r, nil, nil
	}
	if p.Fold && len(n.set.pairs) == 4 && n.set.pairs[0] == n.set.pairs[1] {
		return n.set.pairs[2], nil, nil
	}
	return 0, n.set.pairs, nil
}
