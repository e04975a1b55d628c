// Package regex matches POSIX basic and extended regular expressions with the
// GNU extensions, fixed strings and a useful part of Perl's syntax, on bytes
// that may or may not be valid UTF-8. Matches are leftmost-longest, except in
// Perl syntax; of several ways to divide a match among its groups the one that
// prefers earlier alternatives and longer repeats is taken, as the C library does.
//
// A pattern is parsed into a tree, the tree becomes a program of characters
// ([prog]), and four engines run it: searches for literals and for sequences of
// sets that skip most of the input, a lazily built automaton ([dfa]), and a
// back-tracker for sub-matches, back-references and looking around.
//
// The rule to keep: no pattern and no input may cost more than a bounded
// number of steps per byte. What would is refused by [Compile], or stops
// matching and is reported by [Regexp.Err].
package regex

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Syntax is how a pattern is spelled.
type Syntax uint8

// The syntaxes. The zero value is what grep and sed take without options.
const (
	BRE Syntax = iota
	ERE
	Fixed
	Perl
)

// Options say how to read and match a pattern. The zero value is a plain BRE.
type Options struct {
	Syntax    Syntax
	Fold      bool // letters match in either case
	Word      bool // matches must not touch other word characters, as with grep -w
	WholeLine bool // matches must reach from end to end, as with grep -x
	Multiline bool // ^ and $ also match beside newlines inside the text

	// Multi holds more patterns; a text matches if any of them does.
	Multi []string

	// Strict refuses operators that have nothing to repeat, as the C library
	// does; otherwise they are read as grep reads them.
	Strict bool
	// LooseParen takes a ) without ( for a character.
	LooseParen bool
	// BracketEscapes gives the backslash its meaning inside brackets, as in awk.
	BracketEscapes bool

	// Done ends matches early, which [Regexp.Err] then reports; nil never does.
	Done <-chan struct{}
	// Hold is asked for memory before it is allocated; nil permits everything.
	// The memory is needed for as long as the Regexp is in use.
	Hold func(bytes int64) error
}

// A syntaxError is what is wrong with a pattern, in the words of the C library.
type syntaxError string

// Error implements error.
func (e syntaxError) Error() string { return string(e) }

// errComplex is reported by [Regexp.Err] when a match was given up.
const errComplex = syntaxError("regex too complex: matching takes too many steps")

// A Regexp is a compiled pattern. It is safe for concurrent use.
type Regexp struct {
	source string
	prog   *prog // with captures
	bool   *prog // finds out whether there is a match; nil if only prog can
	plan   *plan
	groups int
	whole  int // the length of the one literal the pattern is; 0 if it is none
	behind int // how far before a literal of the plan a match can start; -1 is unknown
	perl   bool
	done   <-chan struct{}

	gaveUp atomic.Bool
	spare  atomic.Pointer[machine]
	pool   sync.Pool
}

// The sizes of patterns that are read at all, in bytes. What they become takes
// about memoryPerByte for each of them.
const (
	maxPattern       = 1 << 20
	maxFixed         = 8 << 20
	memoryPerByte    = 300
	memoryPerPattern = 4 << 10
)

// measure refuses patterns that are too long and asks for the memory they need.
func measure(pattern string, o Options) (size int, err error) {
	size = len(pattern)
	for _, m := range o.Multi {
		size += len(m) + 1
	}
	if size > maxPattern && o.Syntax != Fixed {
		return 0, syntaxError("Regular expression too big: longer than 1 MB")
	}
	if size > maxFixed {
		return 0, syntaxError("Patterns too big: longer than 8 MB")
	}
	if o.Hold != nil {
		err = o.Hold(memoryPerPattern + memoryPerByte*int64(size))
	}
	return size, err
}

// Compile reads a pattern.
func Compile(pattern string, o Options) (*Regexp, error) {
	size, err := measure(pattern, o)
	if err != nil {
		return nil, err
	}
	trees, groups, refs, err := parseAll(pattern, o)
	if err != nil {
		return nil, err
	}
	tree := enclose(alt(trees), o)
	re := &Regexp{source: pattern, groups: groups, perl: o.Syntax == Perl, done: o.Done}
	if re.prog, err = compile(tree, groups, size, o.Done); err != nil {
		return nil, err
	}
	re.prog.fold = o.Fold
	if !refs {
		small := reduce(tree)
		if re.bool, err = compile(small, 0, size, o.Done); err != nil {
			return nil, err
		}
		re.plan = newPlan(small, o.Fold)
		re.place(required(tree, o.Fold), required(small, o.Fold))
	} else {
		re.plan = &plan{kind: planBack, filter: newFilter(required(tree, o.Fold), o.Fold)}
	}
	return re, nil
}

// place finds out what literals tell about the start of a match. The plan was
// made for less than the whole pattern, so the whole must agree about them.
func (re *Regexp) place(whole, part literals) {
	re.behind = -1
	must, behind := whole.best()
	if other, _ := part.best(); slices.Equal(must, other) && re.plan.filter != nil {
		re.behind = behind
	}
	if len(whole.exact) == 1 && !whole.placed && re.plan.kind == planLiteral && re.behind == 0 {
		re.whole = len(whole.exact[0])
	}
}

// parseAll parses all patterns of a regexp; each counts its groups from the
// last one's, so that a back-reference means a group of its own pattern.
func parseAll(pattern string, o Options) (trees []*node, groups int, refs bool, err error) {
	known := map[string]*node{}
	for i := -1; i < len(o.Multi); i++ {
		text := pattern
		if i >= 0 {
			text = o.Multi[i]
		}
		p := &parser{Options: o, src: text, groups: groups, base: groups, known: known, closed: map[int]bool{},
			names: map[string]int{}}
		n, err := p.parse()
		if err != nil {
			return nil, 0, false, err
		}
		trees, groups, refs = append(trees, n), p.groups, refs || p.refs
	}
	return trees, groups, refs, nil
}

// enclose adds what -x and -w ask for.
func enclose(n *node, o Options) *node {
	switch {
	case o.WholeLine:
		return cat(assert(atBegin), n, assert(atEnd))
	case o.Word:
		return cat(assert(noWordBefore), n, assert(noWordAfter))
	}
	return n
}

// String returns the pattern as it was given.
func (re *Regexp) String() string { return re.source }

// NumSubexp returns the number of groups.
func (re *Regexp) NumSubexp() int { return re.groups }

// Until makes done end matches early, like [Options.Done]. It is called before
// the first match.
func (re *Regexp) Until(done <-chan struct{}) { re.done = done }

// Err returns [errComplex] if any match was given up, and then all answers
// since are doubtful. Callers ask at least once before they rely on "no match".
func (re *Regexp) Err() error {
	if re.gaveUp.Load() {
		return errComplex
	}
	return nil
}

// Match reports whether b contains a match. Newlines in b are characters like
// any other.
func (re *Regexp) Match(b []byte) bool {
	m := re.get(len(b))
	defer re.put(m)
	return m.exists(b, 0)
}

// MatchString is Match for a string.
func (re *Regexp) MatchString(s string) bool { return re.Match([]byte(s)) }

// Find returns the offsets of the first match that starts at from or later and
// of its groups, two for each, -1 for a group that took no part; nil if there
// is no match. What stands before from counts as context: ^ does not match at
// from unless from is 0. The result uses loc if it has room.
func (re *Regexp) Find(b []byte, from int, loc []int) []int {
	m := re.get(len(b))
	defer re.put(m)
	return m.find(b, from, loc[:0], true)
}

// FindSpan is Find without the groups; start is -1 if there is no match.
func (re *Regexp) FindSpan(b []byte, from int) (start, end int) {
	m := re.get(len(b))
	defer re.put(m)
	var room [2]int
	loc := m.find(b, from, room[:0], false)
	if loc == nil {
		return -1, -1
	}
	return loc[0], loc[1]
}

// FindMatchingLine returns the next line of the block that matches, with its
// newline, looking from the line that starts at from; start is -1 if there is
// none. The block holds whole lines.
func (re *Regexp) FindMatchingLine(block []byte, from int) (start, end int) {
	m := re.get(len(block) - from)
	defer re.put(m)
	m.begin()
	return m.nextLine(block, from)
}

// MatchingLines appends the bounds of all matching lines of the block, two
// numbers each, until there are limit of them; a negative limit is none.
func (re *Regexp) MatchingLines(block []byte, bounds []int, limit int) []int {
	m := re.get(len(block))
	defer re.put(m)
	m.begin()
	for at := 0; limit != 0; limit-- {
		start, end := m.nextLine(block, at)
		if start < 0 {
			break
		}
		bounds = append(bounds, start, end)
		at = end
	}
	return bounds
}

// CountLines returns how many lines of the block match.
func (re *Regexp) CountLines(block []byte) int {
	m := re.get(len(block))
	defer re.put(m)
	m.begin()
	n := 0
	for at := 0; ; n++ {
		hit := m.nextHit(block, at)
		if hit < 0 {
			return n
		}
		at = lineEnd(block, hit)
	}
}

// Cheap reports whether the pattern is found by searching literals alone, so
// that more workers would only wait for memory.
func (re *Regexp) Cheap() bool {
	return re.plan.kind == planLiteral || re.plan.kind == planAll
}

// get takes a machine for one call on n bytes.
func (re *Regexp) get(n int) *machine {
	m := re.spare.Swap(nil)
	if m == nil {
		if m, _ = re.pool.Get().(*machine); m == nil {
			m = newMachine(re)
		}
	}
	m.budget.reset(min(stepsPerCall+stepsPerByte*n, maxSteps+stepsLong*n), re.done)
	return m
}

func (re *Regexp) put(m *machine) {
	if m.budget.exhausted() {
		re.gaveUp.Store(true)
	}
	m.track.release()
	if !re.spare.CompareAndSwap(nil, m) {
		re.pool.Put(m)
	}
}

// How much work one call may do beyond looking at each byte once. The first
// number lets short texts be hard, the second is what automata under
// construction need in practice, many times over. Long texts get less per byte,
// so that no single call takes more than a second or so.
const (
	stepsPerCall = 2 << 20
	stepsPerByte = 500
	stepsLong    = 20
	maxSteps     = 64 << 20
)
