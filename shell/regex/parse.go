package regex

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// syntaxError texts are those of the C library: users and scripts know them.
const (
	errBracket   = syntaxError("Unmatched [, [^, [:, [., or [=")
	errParen     = syntaxError("Unmatched ( or \\(")
	errParenEnd  = syntaxError("Unmatched ) or \\)")
	errBrace     = syntaxError("Unmatched \\{")
	errInterval  = syntaxError("Invalid content of \\{\\}")
	errPreceding = syntaxError("Invalid preceding regular expression")
	errBackslash = syntaxError("Trailing backslash")
	errRef       = syntaxError("Invalid back reference")
	errRange     = syntaxError("Invalid range end")
	errClass     = syntaxError("Invalid character class name")
	errCollate   = syntaxError("Invalid collation character")
	errTooBig    = syntaxError("Regular expression too big")
	errNotClass  = syntaxError("character class syntax is [[:space:]], not [:space:]")
)

const (
	maxRepeat  = 0x7fff // of the C library
	maxNesting = 500
)

// A parser turns one pattern into a tree.
type parser struct {
	Options
	src    string
	pos    int
	groups int // numbers given out
	base   int // groups that belong to earlier patterns
	depth  int
	known  map[string]*node // characters by their text, which share a node

	brackets []seenBracket
	closed   map[int]bool // groups that a back-reference may name
	refs     bool
	names    map[string]int

	quoting bool // between \Q and \E
	dotAll  bool // after (?s): the dot is a newline, too
}

func (p *parser) more() bool { return p.pos < len(p.src) }

func (p *parser) at(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

func (p *parser) take(s string) bool {
	if p.at(s) {
		p.pos += len(s)
		return true
	}
	return false
}

// char takes one character.
func (p *parser) char() rune {
	r, w := utf8.DecodeRuneInString(p.src[p.pos:])
	if r == utf8.RuneError && w == 1 {
		r = rawByte + rune(p.src[p.pos])
	}
	p.pos += w
	return r
}

// token spells an operator in the syntax at hand: BRE escapes what ERE does not.
func (p *parser) token(s string) bool {
	if p.quoting {
		return false
	}
	if p.Syntax == BRE {
		return p.take("\\" + s)
	}
	return p.take(s)
}

func (p *parser) atToken(s string) bool {
	if p.quoting {
		return false
	}
	if p.Syntax == BRE {
		return p.at("\\" + s)
	}
	return p.at(s)
}

// parse reads a whole pattern.
func (p *parser) parse() (*node, error) {
	if p.Syntax == Fixed {
		var subs []*node
		for p.more() {
			subs = append(subs, p.literal(p.char()))
		}
		return cat(subs...), nil
	}
	if p.Syntax != Perl && strings.HasPrefix(p.src, "[:") && strings.HasSuffix(p.src, ":]") && len(p.src) > 3 {
		return nil, errNotClass
	}
	n, err := p.alternatives()
	if err == nil && p.more() {
		err = errParenEnd
	}
	return n, err
}

func (p *parser) alternatives() (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		return nil, errTooBig
	}
	var subs []*node
	for {
		n, err := p.branch()
		if err != nil {
			return nil, err
		}
		subs = append(subs, n)
		if len(subs)&1023 == 1023 && isDone(p.Done) {
			return nil, errTooBig
		}
		if !p.token("|") {
			return alt(subs), nil
		}
	}
}

// branch reads up to the next | or closing parenthesis.
func (p *parser) branch() (*node, error) {
	var subs []*node
	for first := true; p.more() && !p.atToken("|") && !p.atEndOfGroup(); {
		if len(subs)&1023 == 1023 && isDone(p.Done) {
			return nil, errTooBig
		}
		n, err := p.atom(first)
		if err != nil {
			return nil, err
		}
		first = p.Syntax == BRE && first && n.op == opAssert && n.n == p.lineStart()
		if n, err = p.repeats(n, first); err != nil {
			return nil, err
		}
		subs = append(subs, n)
	}
	return cat(subs...), nil
}

func (p *parser) atEndOfGroup() bool {
	return p.atToken(")") && (p.depth > 1 || p.Syntax != ERE || !p.LooseParen)
}

func (p *parser) lineStart() int {
	if p.Multiline {
		return atLineStart
	}
	return atBegin
}

func (p *parser) lineEnd() int {
	if p.Multiline {
		return atLineEnd
	}
	return atEnd
}

// atom reads what an operator may follow. first says that nothing stands
// before it in its branch, where BRE takes operators for characters.
func (p *parser) atom(first bool) (*node, error) {
	if p.Syntax == Perl {
		return p.perlAtom()
	}
	if n, ok, err := p.anchorOrOperator(first); ok || err != nil {
		return n, err
	}
	switch {
	case p.token("("):
		return p.group()
	case p.take("["):
		return p.bracket()
	case p.take("."):
		return &node{op: opSet, set: anySet}, nil
	case p.take("\\"):
		return p.escape()
	}
	return p.literal(p.char()), nil
}

// anchorOrOperator deals with characters whose meaning depends on the place.
func (p *parser) anchorOrOperator(first bool) (n *node, ok bool, err error) {
	bre := p.Syntax == BRE
	switch c := p.src[p.pos]; {
	case c == '^' && (first || !bre):
		p.pos++
		return assert(p.lineStart()), true, nil
	case c == '$' && (!bre || p.endsBranch()):
		p.pos++
		return assert(p.lineEnd()), true, nil
	case bre && first && (p.at("\\{") || p.at("\\+") && p.Strict || p.at("\\?") && p.Strict):
		return nil, false, errPreceding
	case bre && first && c == '*':
		p.pos++
		return p.literal('*'), true, nil
	case !bre && first && strings.IndexByte("*+?{", c) >= 0:
		if p.Strict {
			return nil, false, errPreceding
		}
		if c == '{' && !p.startsInterval() {
			return nil, false, nil
		}
		return &node{op: opEmpty}, true, nil
	}
	return nil, false, nil
}

// startsInterval reports whether a brace here can be an interval at all.
func (p *parser) startsInterval() bool {
	rest := p.src[p.pos+1:]
	i := 0
	for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == ',') {
		i++
	}
	return i > 0 && i < len(rest) && rest[i] == '}'
}

// endsBranch reports whether the $ at hand is the last thing of a BRE branch.
func (p *parser) endsBranch() bool {
	rest := p.src[p.pos+1:]
	return rest == "" || strings.HasPrefix(rest, "\\)") && p.depth > 1 || strings.HasPrefix(rest, "\\|")
}

func (p *parser) group() (*node, error) {
	p.groups++
	n := p.groups
	sub, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.token(")") {
		return nil, errParen
	}
	p.closed[n-p.base] = true
	return &node{op: opGroup, n: n, subs: []*node{sub}}, nil
}

// escape reads what follows a backslash.
func (p *parser) escape() (*node, error) {
	if !p.more() {
		return nil, errBackslash
	}
	c := p.char()
	if c >= '1' && c <= '9' {
		return p.backRef(int(c - '0'))
	}
	if n := classEscape(c); n != nil {
		return n, nil
	}
	switch c {
	case '<':
		return assert(atWordStart), nil
	case '>':
		return assert(atWordEnd), nil
	case 'b':
		return assert(atWordEdge), nil
	case 'B':
		return assert(notWordEdge), nil
	case '`':
		return assert(atBegin), nil
	case '\'':
		return assert(atEnd), nil
	}
	return p.literal(c), nil
}

func (p *parser) backRef(n int) (*node, error) {
	if !p.closed[n] {
		return nil, errRef
	}
	p.refs = true
	return &node{op: opRef, n: p.base + n}, nil
}

// classEscape returns the set of \w, \W, \s and \S, or nil.
func classEscape(c rune) *node {
	switch c {
	case 'w':
		return &node{op: opSet, set: wordSet()}
	case 'W':
		return &node{op: opSet, set: wordSet().negate()}
	case 's':
		return &node{op: opSet, set: spaceSet()}
	case 'S':
		return &node{op: opSet, set: spaceSet().negate()}
	}
	return nil
}

// literal matches one character, in either case if asked.
func (p *parser) literal(r rune) *node {
	key := string(appendChar(nil, r))
	if p.Fold { // which Perl can change inside of a pattern
		key += "i"
	}
	if n, ok := p.known[key]; ok {
		return n
	}
	n := p.newLiteral(r)
	p.known[key] = n
	return n
}

func (p *parser) newLiteral(r rune) *node {
	pairs := []rune{r, r}
	if p.Fold {
		pairs = foldPairs(pairs)
	}
	return &node{op: opSet, set: newSet(pairs)}
}

// repeats reads the operators after n.
func (p *parser) repeats(n *node, literalStar bool) (*node, error) {
	for p.more() && !literalStar && !p.quoting {
		lo, hi, ok, err := p.repeat()
		if err != nil {
			return nil, err
		}
		if !ok {
			return n, nil
		}
		if p.depth++; p.depth > maxNesting {
			return nil, errTooBig
		}
		defer func() { p.depth-- }()
		n = p.mode(&node{op: opRepeat, subs: []*node{n}, min: lo, max: hi})
	}
	return n, nil
}

// mode reads what Perl puts behind an operator: ? for few, + for never less.
func (p *parser) mode(n *node) *node {
	switch {
	case p.Syntax != Perl:
	case p.take("?"):
		n.lazy = true
	case p.take("+"):
		p.refs = true
		return &node{op: opLook, n: lookAtomic, subs: []*node{n}}
	}
	return n
}

func (p *parser) repeat() (lo, hi int, ok bool, err error) {
	switch {
	case p.take("*"):
		return 0, -1, true, nil
	case p.token("+"):
		return 1, -1, true, nil
	case p.token("?"):
		return 0, 1, true, nil
	case p.Syntax != BRE && p.at("{") && !p.startsInterval():
		return 0, 0, false, p.looseBrace()
	case p.token("{"):
		lo, hi, err = p.interval()
		return lo, hi, err == nil, err
	}
	return 0, 0, false, nil
}

// looseBrace decides about a brace that starts no interval: grep takes it for
// a character, the C library does not.
func (p *parser) looseBrace() error {
	if !p.Strict {
		return nil
	}
	if strings.IndexByte(p.src[p.pos:], '}') < 0 {
		return errBrace
	}
	return errPreceding
}

// interval reads n}, n,} n,m} or ,m}.
func (p *parser) interval() (lo, hi int, err error) {
	end := "}"
	if p.Syntax == BRE {
		end = "\\}"
	}
	i := strings.Index(p.src[p.pos:], end)
	if i < 0 {
		return 0, 0, errBrace
	}
	text := p.src[p.pos : p.pos+i]
	p.pos += i + len(end)
	first, second, comma := strings.Cut(text, ",")
	if lo, err = bound(first, 0); err != nil {
		return 0, 0, err
	}
	hi = lo
	if comma {
		if hi, err = bound(second, -1); err != nil {
			return 0, 0, err
		}
	} else if first == "" {
		return 0, 0, errInterval
	}
	if hi >= 0 && lo > hi {
		return 0, 0, errInterval
	}
	return lo, hi, nil
}

func bound(s string, empty int) (int, error) {
	if s == "" {
		return empty, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && strings.Trim(s, "0123456789") != "" {
		return 0, errInterval
	}
	if err != nil || n > maxRepeat {
		return 0, errTooBig
	}
	return int(n), nil
}
