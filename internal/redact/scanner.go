package redact

import (
	"iter"
	"strings"
)

const (
	// step is the length of a window. From every place in it, the text up to
	// the end of the next window is looked at, half of which is surely there
	// to be looked at; before a place, at least half of lookBack.
	step = ahead / 2
	// effort is how many bytes may be looked at on behalf of the places of one
	// window. Ordinary text needs a fraction; a text that is made to be looked
	// at over and over loses the rest of the window instead.
	effort = 16 * step
	// lookBack is how far before a name its surroundings are looked at.
	lookBack = 1024
)

// A scanner finds secrets in one text from its start to its end. It remembers
// what it saw, so that many places that might hold a secret cost no more than
// few. The zero value is ready.
type scanner struct {
	offset int // of what it is shown in the whole text
	window int // that it is in, counted from 1
	left   int // of its effort

	quotes, commands memory
	run              struct{ from, to, window int } // of token letters

	due      int  // where in the whole text the = of the next cookie is; 0 means nowhere
	dueQuote byte // that it stands in
}

// A memory is what is known of the text between two places.
type memory struct {
	from, to int  // in the whole text
	state    byte // at to
}

// secrets goes through the secrets of a text.
func secrets(s string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		i := anchorIn(s, 0, len(s))
		if i == len(s) {
			return // most texts are short and have none
		}
		var sc scanner
		done := 0
		for ; i < len(s); i = anchorIn(s, i+1, sc.stop(0, i+1, len(s))) {
			from, to := sc.find(s, i, done)
			if to <= from {
				continue
			}
			if !yield(from, to) {
				return
			}
			done, i = to, to-1
		}
	}
}

// stop returns how far one may go from i to stop without a look: the = of a
// cookie is no anchor of its own. offset is that of the text these are places in.
func (sc *scanner) stop(offset, i, stop int) int {
	if at := sc.due - offset; sc.due > 0 && at >= i && at < stop {
		return at
	}
	return stop
}

// find looks for a secret around the anchor s[i], not before low.
// An empty span means there is none. See [anchorIn] for what an anchor is.
func (sc *scanner) find(s string, i, low int) (from, to int) {
	if s[i] == '-' && strings.HasPrefix(s[i:], keyBegin) {
		return keyBlock(s, i)
	}
	if w := (sc.offset+i)/step + 1; w != sc.window {
		sc.window, sc.left = w, effort
	}
	end := min(len(s), (sc.window+1)*step-sc.offset)
	if sc.due > 0 && sc.due == sc.offset+i {
		from, to = sc.cookie(s[:end], i, sc.dueQuote, false)
	} else {
		from, to = sc.look(s[:end], i, low)
	}
	if to < end || to <= from {
		return from, to
	}
	return from, beyond(s, from, to)
}

// beyond returns where a secret ends that goes on where the look ahead ended.
func beyond(s string, from, to int) int {
	if opensKey(s[from:to]) {
		_, to = keyBlock(s, from+strings.LastIndex(s[from:to], keyBegin))
		return to
	}
	return to + span(s[to:], longByte)
}

// spend counts bytes that were looked at.
func (sc *scanner) spend(n int) { sc.left -= n }

// spent reports whether this window was looked at enough. Then what looks like
// the start of a secret is one, up to where the look ahead ends.
func (sc *scanner) spent() bool { return sc.left <= 0 }

// start returns from where on the surroundings of s[at] are looked at. It is
// the same place for many, so that what was seen can be remembered.
func (sc *scanner) start(at int) int {
	const half = lookBack / 2
	return max(0, ((sc.offset+at)/half-1)*half-sc.offset)
}

// recall returns the state at s[at], going on from what is remembered where
// that is possible. next returns the state after s[i] and the next place.
func (sc *scanner) recall(m *memory, s string, at int, next func(s string, i int, state byte) (byte, int)) byte {
	from := sc.start(at)
	if m.from != sc.offset+from || m.to > sc.offset+at || m.to < m.from {
		*m = memory{from: sc.offset + from, to: sc.offset + from}
	}
	i := m.to - sc.offset
	if n := strings.LastIndexByte(s[i:at], '\n'); n >= 0 {
		m.state, i = 0, i+n+1 // nothing is open at the start of a line
	}
	sc.spend(at - i)
	for i < at {
		m.state, i = next(s, i, m.state)
	}
	m.to = sc.offset + i
	return m.state
}

// quoted returns the quote that s[at] stands in on its line, if any.
func (sc *scanner) quoted(s string, at int) (q byte) {
	return sc.recall(&sc.quotes, s, at, nextQuote)
}

func nextQuote(s string, i int, q byte) (byte, int) {
	switch c := s[i]; {
	case c == '\n':
		return 0, i + 1
	case c == '\\' && q != '\'' && i+1 < len(s) && s[i+1] != '\n':
		return q, i + 2
	case q == 0 && quote(c):
		return c, i + 1
	case c == q:
		return 0, i + 1
	}
	return q, i + 1
}

// tokenRun returns where the letters of a token end that s[at] is one of.
func (sc *scanner) tokenRun(s string, at int) int {
	if r := &sc.run; r.window != sc.window || sc.offset+at < r.from || sc.offset+at >= r.to {
		r.from, r.to, r.window = sc.offset+at, sc.offset+at+span(s[at:], tokenByte), sc.window
	}
	return sc.run.to - sc.offset
}

// begins reports whether a token may begin at s[at]: no letter stands before
// it, unless that is part of a line break or the like as JSON and programs spell
// them: "\nsk-…", "\u000ask-…". How many backslashes there are says how often the
// text was put into another, nothing more.
func begins(s string, at int) bool {
	return at == 0 || !letter(s[at-1]) || escapedBefore(s, at) ||
		at > 5 && s[at-6] == '\\' && s[at-5] == 'u' && span(s[at-4:at], hexDigit) == 4 ||
		at > 3 && s[at-4] == '\\' && s[at-3] == 'x' && span(s[at-2:at], hexDigit) == 2
}

// escapedBefore reports whether s[:at] ends with an escape of one letter.
func escapedBefore(s string, at int) bool {
	return at > 1 && s[at-2] == '\\' && escapeLetter(s[at-1])
}

func escapeLetter(c byte) bool { return strings.IndexByte(escapeLetters, c) >= 0 }

// escapeLetters are those of line breaks and the like.
const escapeLetters = "ntrfvb"

func hexDigit(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
