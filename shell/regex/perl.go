package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// perlAtom reads one atom of the Perl syntax.
func (p *parser) perlAtom() (*node, error) {
	if p.quoting {
		n := p.literal(p.char())
		p.quoting = p.more() && !p.take("\\E")
		return n, nil
	}
	switch c := p.src[p.pos]; {
	case p.take("^"):
		return assert(p.lineStart()), nil
	case p.take("$"):
		return assert(p.lineEnd()), nil
	case strings.IndexByte("*+?", c) >= 0:
		return nil, syntaxError("quantifier does not follow a repeatable item")
	case p.take("("):
		return p.perlGroup()
	case p.take("["):
		return p.bracket()
	case p.take("."):
		return &node{op: opSet, set: p.dot()}, nil
	case p.take("\\Q"):
		p.quoting = p.more() && !p.take("\\E")
		return &node{op: opEmpty}, nil
	case p.take("\\"):
		return p.perlEscape()
	}
	return p.literal(p.char()), nil
}

var notNewline = newSet([]rune{'\n', '\n'}).negate()

func (p *parser) dot() *set {
	if p.dotAll {
		return anySet
	}
	return notNewline
}

// perlGroup reads a group and what may follow its parenthesis.
func (p *parser) perlGroup() (*node, error) {
	if !p.take("?") {
		return p.group()
	}
	if p.take("#") {
		_, err := p.until(")")
		return &node{op: opEmpty}, err
	}
	for _, l := range []struct {
		text  string
		flags int
	}{{"=", 0}, {"!", lookNot}, {"<=", lookBehind}, {"<!", lookBehind | lookNot}, {">", lookAtomic}} {
		if p.take(l.text) {
			p.refs = true
			sub, err := p.inner()
			return &node{op: opLook, n: l.flags, subs: []*node{sub}}, err
		}
	}
	if p.take("P<") || p.take("<") || p.take("'") {
		i := strings.IndexAny(p.src[p.pos:], ">'")
		if i <= 0 {
			return nil, syntaxError("syntax error in subpattern name (missing terminator?)")
		}
		p.names[p.src[p.pos:p.pos+i]] = p.groups - p.base + 1
		p.pos += i + 1
		return p.group()
	}
	return p.flags()
}

// inner reads up to the closing parenthesis without capturing.
func (p *parser) inner() (*node, error) {
	sub, err := p.alternatives()
	if err == nil && !p.take(")") {
		err = errParen
	}
	return sub, err
}

// flags reads (?ims-ims) and (?ims-ims:…).
func (p *parser) flags() (*node, error) {
	options, dotAll, on := p.Options, p.dotAll, true
	defer func() { p.Options, p.dotAll = options, dotAll }()
	for p.more() {
		switch c := p.char(); c {
		case '-':
			on = false
		case 'i':
			p.Fold = on
		case 'm':
			p.Multiline = on
		case 's':
			p.dotAll = on
		case 'x', 'U':
			return nil, syntaxError(fmt.Sprintf("the flag (?%c) is not supported", c))
		case ':':
			return p.inner()
		case ')':
			// The rest of the enclosing group has the new flags.
			return p.alternatives()
		default:
			return nil, syntaxError("unrecognized character after (? or (?-")
		}
	}
	return nil, errParen
}

var perlPlaces = map[rune]int{'b': atWordEdge, 'B': notWordEdge, 'A': atBegin, 'z': atEnd, 'Z': atEnd}

var perlChars = map[rune]rune{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'e': 0x1b, 'a': 7, '0': 0}

// perlEscape reads what follows a backslash.
func (p *parser) perlEscape() (*node, error) {
	if !p.more() {
		return nil, syntaxError("\\ at end of pattern")
	}
	c := p.char()
	if at, ok := perlPlaces[c]; ok {
		return assert(at), nil
	}
	if r, ok := perlChars[c]; ok {
		return p.literal(r), nil
	}
	switch c {
	case 'd', 'D', 'w', 'W', 's', 'S', 'h', 'H', 'N', 'R':
		return perlClass(c), nil
	case 'K':
		p.refs = true
		return &node{op: opKeep}, nil
	case 'x':
		return p.hex()
	case 'p', 'P':
		return p.property(c == 'P')
	case 'g', 'k':
		return p.namedRef()
	}
	if c >= '1' && c <= '9' {
		return p.backRef(int(c - '0'))
	}
	return p.literal(c), nil
}

// perlClass returns the sets that have a letter; in Perl syntax they are ASCII.
func perlClass(c rune) *node {
	lower := unicode.ToLower(c)
	var pairs []rune
	switch lower {
	case 'd':
		pairs = asciiClasses["digit"]
	case 'w':
		pairs = asciiClasses["word"]
	case 's':
		pairs = asciiClasses["space"]
	case 'h':
		pairs = asciiClasses["blank"]
	case 'r':
		return &node{op: opSet, set: newSet([]rune{'\n', '\r'})}
	case 'n':
		return &node{op: opSet, set: notNewline}
	}
	s := newSet(pairs)
	if c != lower {
		s = s.negate()
	}
	return &node{op: opSet, set: s}
}

func (p *parser) hex() (*node, error) {
	var text string
	if p.take("{") {
		var err error
		if text, err = p.until("}"); err != nil {
			return nil, err
		}
	} else {
		for len(text) < 2 && p.more() && strings.IndexByte("0123456789abcdefABCDEF", p.src[p.pos]) >= 0 {
			text += string(p.char())
		}
	}
	n, err := strconv.ParseUint("0"+text, 16, 32)
	if err != nil || n > unicode.MaxRune {
		return nil, syntaxError("character code point value in \\x{} or \\o{} is too large")
	}
	return p.literal(rune(n)), nil
}

func (p *parser) property(negated bool) (*node, error) {
	name := ""
	if p.take("{") {
		var err error
		if name, err = p.until("}"); err != nil {
			return nil, err
		}
	} else if p.more() {
		name = string(p.char())
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	table := unicode.Categories[name]
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		return nil, syntaxError("unknown property name after \\P or \\p")
	}
	s := newSet(tablePairs(table))
	if negated {
		s = s.negate()
	}
	return &node{op: opSet, set: s}, nil
}

// namedRef reads \g1, \g{1}, \g{name}, \k<name>, \k{name}.
func (p *parser) namedRef() (*node, error) {
	name := ""
	switch {
	case p.take("{"):
		name, _ = p.until("}")
	case p.take("<"):
		name, _ = p.until(">")
	case p.more():
		name = string(p.char())
	}
	if n, ok := p.names[name]; ok {
		return p.backRef(n)
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, errRef
	}
	return p.backRef(n)
}
