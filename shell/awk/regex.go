package awk

import (
	"bytes"
	"fmt"
	"strings"
)

// An engine matches one compiled pattern.
type engine interface {
	Match(b []byte) bool
	// Find returns the places of the first match at or after from, using loc
	// for them if it is large enough, or nil.
	Find(b []byte, from int, loc []int) []int
	Err() error                 // matching was given up
	Until(done <-chan struct{}) // ends matches early
}

// A regex is a pattern of the language. Those without operators are searched
// for as plain text.
type regex struct {
	src  string
	kind regexKind
	lit  string
	eng  engine
	fold *regex // the same without regard to case, once it was needed
}

type regexKind uint8

const (
	general regexKind = iota
	literal
	literalStart // ^text
	literalEnd   // text$
	literalWhole // ^text$
)

// newRegex compiles a pattern.
func newRegex(src string, fold bool) (*regex, error) {
	ere := translate(src)
	re := &regex{src: src}
	if !fold {
		re.kind, re.lit = plain(ere)
	}
	var err error
	if re.eng, err = compileEngine(ere, fold); err != nil {
		return nil, fmt.Errorf("invalid regexp: %w: /%s/", err, src)
	}
	return re, nil
}

// plain recognises a pattern that is text with at most anchors around it.
func plain(ere string) (regexKind, string) {
	body, start := strings.CutPrefix(ere, "^")
	var b strings.Builder
	end := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case end:
			return general, ""
		case c == '\\' && i+1 < len(body) && strings.IndexByte(`.[]()*+?{}|^$\`, body[i+1]) >= 0:
			i++
			b.WriteByte(body[i])
		case c == '$':
			end = true
		case strings.IndexByte(`.[]()*+?{}|^\`, c) >= 0:
			return general, ""
		default:
			b.WriteByte(c)
		}
	}
	switch {
	case start && end:
		return literalWhole, b.String()
	case start:
		return literalStart, b.String()
	case end:
		return literalEnd, b.String()
	}
	return literal, b.String()
}

// matches reports whether s contains a match.
func (m *machine) matches(re *regex, s string) bool {
	m.spend(len(s))
	if m.ignoreCase {
		re = m.folded(re)
	}
	switch re.kind {
	case literal:
		return strings.Contains(s, re.lit)
	case literalStart:
		return strings.HasPrefix(s, re.lit)
	case literalEnd:
		return strings.HasSuffix(s, re.lit)
	case literalWhole:
		return s == re.lit
	}
	return re.eng.Match(m.bytes(s)) || re.gaveUp()
}

// gaveUp ends the program if the engine could not tell, and is false otherwise.
func (re *regex) gaveUp() bool {
	if err := re.eng.Err(); err != nil {
		fail(1, "%v: /%s/", err, re.src)
	}
	return false
}

// find returns the places of the first match in b at or after from.
func (re *regex) find(b []byte, from int, loc []int) []int {
	if re.kind != literal {
		found := re.eng.Find(b, from, loc)
		if found == nil {
			re.gaveUp()
		}
		return found
	}
	i := bytes.Index(b[from:], []byte(re.lit))
	if i < 0 {
		return nil
	}
	return append(loc[:0], from+i, from+i+len(re.lit))
}

// bytes copies a string to where regular expressions read it.
func (m *machine) bytes(s string) []byte {
	m.spend(len(s))
	if cap(m.scratch) < len(s) {
		m.fits(2 * len(s))
		m.scratch = make([]byte, 0, 2*len(s))
	}
	m.scratch = append(m.scratch[:0], s...)
	return m.scratch
}

// maxRegexes bounds how many patterns made at run time are kept.
const maxRegexes = 200

// A regexCache keeps patterns made at run time, compiled.
type regexCache struct {
	last *regex
	all  map[string]*regex
	held int
}

// What a pattern takes in memory: for itself, and for each byte of its text.
const (
	regexCost     = 16 << 10
	regexByteCost = 200
)

// regex returns the compiled form of a pattern made at run time.
func (m *machine) regex(src string) *regex {
	c := &m.dynamic
	if c.last != nil && c.last.src == src {
		return c.last
	}
	re := c.all[src]
	if re == nil {
		m.spend(100 * bytesPerStep)
		cost := regexCost + regexByteCost*len(src)
		m.hold(cost)
		var err error
		if re, err = newRegex(strings.Clone(src), false); err != nil {
			fail(1, "%v", err)
		}
		if c.all == nil || len(c.all) >= maxRegexes {
			c.all = make(map[string]*regex)
			m.hold(-c.held)
			c.held = 0
		}
		re.eng.Until(m.ctx.Done())
		c.all[re.src] = re
		c.held += cost
	}
	c.last = re
	return re
}

// folded returns the pattern without regard to case.
func (m *machine) folded(re *regex) *regex {
	if re.fold == nil {
		m.hold(regexCost + regexByteCost*len(re.src)) // until the program ends
		f, err := newRegex(re.src, true)
		if err != nil {
			fail(1, "%v", err)
		}
		f.eng.Until(m.ctx.Done())
		f.fold = f
		re.fold = f
	}
	return re.fold
}

// cased returns the pattern as IGNORECASE wants it.
func (m *machine) cased(re *regex) *regex {
	if m.ignoreCase {
		return m.folded(re)
	}
	return re
}
