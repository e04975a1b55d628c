package redact

import (
	"iter"
	"strings"
)

const (
	// windowSize is the length of a window. From every place in it, the text up to
	// the end of the next window is looked at, half of which is surely there
	// to be looked at; before a place, at least half of lookBack.
	windowSize = lookAhead / 2
	// maxEffort is how many bytes may be looked at on behalf of the places of one
	// window. Ordinary text needs a fraction; a text that is made to be looked
	// at over and over loses the rest of the window instead.
	maxEffort = 16 * windowSize
	// lookBack is how far before a name its surroundings are looked at.
	lookBack = 1024
)

// A scanner finds secrets in one text from start to end. It caches what it saw, so that the time is linear in the
// size of the text. The zero value is ready to use.
type scanner struct {
	offset int // of what it is shown in the whole text
	window int // that it is in, counted from 1
	left   int // of its effort

	quotes, commands cachedState
	run              struct{ from, to, window int } // of token letters

	nextCookie      int  // where in the whole text the = of the next cookie is; 0 means nowhere
	nextCookieQuote byte // that it stands in
}

// A cachedState is the state of a state machine between two positions.
type cachedState struct {
	from, to int  // in the whole text
	state    byte // at to
}

// secrets iterates over the secrets of a text.
func secrets(s string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		i := nextAnchor(s, 0, len(s))
		if i == len(s) {
			return // most texts are short and have none
		}
		var sc scanner
		done := 0
		for ; i < len(s); i = nextAnchor(s, i+1, sc.nextStop(0, i+1, len(s))) {
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

// nextStop returns how far to search for anchors from i to stop: the = of a cookie is not an anchor. offset is
// that of the text.
func (sc *scanner) nextStop(offset, i, stop int) int {
	if at := sc.nextCookie - offset; sc.nextCookie > 0 && at >= i && at < stop {
		return at
	}
	return stop
}

// find looks for a secret around the anchor s[i], not before low. An empty span means none.
func (sc *scanner) find(s string, i, low int) (from, to int) {
	if s[i] == '-' && strings.HasPrefix(s[i:], keyBegin) {
		return keyBlock(s, i)
	}
	if w := (sc.offset+i)/windowSize + 1; w != sc.window {
		sc.window, sc.left = w, maxEffort
	}
	end := min(len(s), (sc.window+1)*windowSize-sc.offset)
	if sc.nextCookie > 0 && sc.nextCookie == sc.offset+i {
		from, to = sc.cookieValue(s[:end], i, sc.nextCookieQuote, false)
	} else {
		from, to = sc.findWithin(s[:end], i, low)
	}
	if to < end || to <= from {
		return from, to
	}
	return from, extend(s, from, to)
}

// extend returns where a secret ends that continues where the look-ahead ended.
func extend(s string, from, to int) int {
	if opensKey(s[from:to]) {
		_, to = keyBlock(s, from+strings.LastIndex(s[from:to], keyBegin))
		return to
	}
	return to + span(s[to:], isLongSecretByte)
}

// charge counts bytes that were looked at.
func (sc *scanner) charge(n int) { sc.left -= n }

// exhausted reports whether too much of this window was looked at. Then whatever looks like the start of a secret
// is removed up to the end of the look-ahead.
func (sc *scanner) exhausted() bool { return sc.left <= 0 }

// contextStart returns where the context of s[at] begins. It is the same for many positions, so that states can
// be cached.
func (sc *scanner) contextStart(at int) int {
	const half = lookBack / 2
	return max(0, ((sc.offset+at)/half-1)*half-sc.offset)
}

// stateAt returns the state at s[at], continuing from the cached one if possible. next returns the state after
// s[i] and the next position.
func (sc *scanner) stateAt(m *cachedState, s string, at int, next func(s string, i int, state byte) (byte, int)) byte {
	from := sc.contextStart(at)
	if m.from != sc.offset+from || m.to > sc.offset+at || m.to < m.from {
		*m = cachedState{from: sc.offset + from, to: sc.offset + from}
	}
	i := m.to - sc.offset
	if n := strings.LastIndexByte(s[i:at], '\n'); n >= 0 {
		m.state, i = 0, i+n+1 // nothing is open at the start of a line
	}
	sc.charge(at - i)
	for i < at {
		m.state, i = next(s, i, m.state)
	}
	m.to = sc.offset + i
	return m.state
}

// quoted returns the quote that encloses s[at] on its line, if any.
func (sc *scanner) quoted(s string, at int) (q byte) {
	return sc.stateAt(&sc.quotes, s, at, nextQuote)
}

func nextQuote(s string, i int, q byte) (byte, int) {
	switch c := s[i]; {
	case c == '\n':
		return 0, i + 1
	case c == '\\' && q != '\'' && i+1 < len(s) && s[i+1] != '\n':
		return q, i + 2
	case q == 0 && isQuote(c):
		return c, i + 1
	case c == q:
		return 0, i + 1
	}
	return q, i + 1
}

// tokenRun returns where the token bytes around s[at] end.
func (sc *scanner) tokenRun(s string, at int) int {
	if r := &sc.run; r.window != sc.window || sc.offset+at < r.from || sc.offset+at >= r.to {
		r.from, r.to, r.window = sc.offset+at, sc.offset+at+span(s[at:], isTokenByte), sc.window
	}
	return sc.run.to - sc.offset
}

// mayBegin reports whether a token may begin at s[at]: no letter precedes it, unless it is part of an escape such
// as "
// sk-…" or "\u000ask-…", with any number of backslashes.
func mayBegin(s string, at int) bool {
	return at == 0 || !isAlphanumeric(s[at-1]) || escapedBefore(s, at) ||
		at > 5 && s[at-6] == '\\' && s[at-5] == 'u' && span(s[at-4:at], isHexDigit) == 4 ||
		at > 3 && s[at-4] == '\\' && s[at-3] == 'x' && span(s[at-2:at], isHexDigit) == 2
}

// escapedBefore reports whether s[:at] ends with an escape of one letter.
func escapedBefore(s string, at int) bool {
	return at > 1 && s[at-2] == '\\' && isEscapeLetter(s[at-1])
}

func isEscapeLetter(c byte) bool { return strings.IndexByte(escapeLetters, c) >= 0 }

// escapeLetters are those of line breaks and the like.
const escapeLetters = "ntrfvb"

func isHexDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
