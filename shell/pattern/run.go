package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A run is one text being matched, from the left or from the right. Positions
// are distances from where it starts, in bytes, so that both ways look alike.
type run struct {
	s    string
	back bool
	fold bool
	effort

	spare [8]interval // for small sets, see small
	used  int
}

func (m Matcher) run(s string, back bool) *run {
	return &run{s: s, back: back, fold: m.fold, effort: effort{check: m.check}}
}

// small returns an empty set with room for one interval, without an allocation
// of its own while there are spare ones.
func (r *run) small() positions {
	if r.used == len(r.spare) {
		return nil
	}
	r.used++
	return positions(r.spare[r.used-1 : r.used-1 : r.used])
}

func (r *run) point(at int) positions { return append(r.small(), interval{at, at}) }

// slice is how much work is done between two checks.
const slice = 1 << 16

// effort is the work that something takes.
type effort struct {
	check   func(work int) bool
	work    int
	stopped bool
}

// spend counts work and reports whether to go on.
func (e *effort) spend(n int) bool {
	if e.work += n; e.work >= slice {
		if e.check != nil && !e.stopped && !e.check(e.work) {
			e.stopped = true
		}
		e.work = 0
	}
	return !e.stopped
}

// next returns the character at a position and the position behind it.
func (r *run) next(at int) (c rune, behind int) {
	if r.back {
		c, w := utf8.DecodeLastRuneInString(r.s[:len(r.s)-at])
		return c, at + w
	}
	if b := r.s[at]; b < utf8.RuneSelf {
		return rune(b), at + 1
	}
	c, w := utf8.DecodeRuneInString(r.s[at:])
	return c, at + w
}

// take matches a literal at a position and returns the position behind it, or -1.
func (r *run) take(text string, at int) int {
	if r.fold {
		return r.takeFold(text, at)
	}
	if r.back {
		if strings.HasSuffix(r.s[:len(r.s)-at], text) {
			return at + len(text)
		}
	} else if strings.HasPrefix(r.s[at:], text) {
		return at + len(text)
	}
	return -1
}

func (r *run) takeFold(text string, at int) int {
	pat := run{s: text, back: r.back}
	for i := 0; i < len(text); {
		if at >= len(r.s) || !r.spend(1) {
			return -1
		}
		var a, b rune
		a, i = pat.next(i)
		b, at = r.next(at)
		if a != b && !sameLetter(a, b) {
			return -1
		}
	}
	return at
}

func sameLetter(a, b rune) bool {
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}

// index returns the first position in [at, end] where a literal matches, or -1.
func (r *run) index(text string, at, end int) int {
	const piece = 1 << 20 // between two checks
	n := len(r.s)
	for ; at <= end; at += piece {
		to := min(at+piece-1, end)
		reach := min(to+len(text), n)
		if !r.spend((reach-at)/16 + 4) {
			return -1
		}
		i := -1
		if r.back {
			if i = strings.LastIndex(r.s[n-reach:n-at], text); i >= 0 {
				i = reach - i - len(text)
			}
		} else if i = strings.Index(r.s[at:reach], text); i >= 0 {
			i += at
		}
		if i >= 0 {
			return i
		}
	}
	return -1
}

// one matches a node other than a star or group at a position and returns the
// position behind it, or -1.
func (r *run) one(n *node, at int) int {
	switch n.kind {
	case literal:
		return r.take(n.text, at)
	case anyChar:
		if !r.spend(n.count) {
			return -1
		}
		return r.skip(n.count, at)
	}
	if at >= len(r.s) {
		return -1
	}
	c, behind := r.next(at)
	if !n.set.has(c) {
		return -1
	}
	return behind
}

// skip passes over count characters; -1 means that there are not so many.
func (r *run) skip(count, at int) int {
	for ; count > 0; count-- {
		if at >= len(r.s) {
			return -1
		}
		_, at = r.next(at)
	}
	return at
}

// fixed matches a sequence without stars and groups.
func (r *run) fixed(seq []node, at int) int {
	for i := range seq {
		n := &seq[i]
		if r.back {
			n = &seq[len(seq)-1-i]
		}
		if at = r.one(n, at); at < 0 || !r.spend(1) {
			return -1
		}
	}
	return at
}

// seek returns the first position in [at, end] where such a sequence matches.
func (r *run) seek(seq []node, at, end int) int {
	if len(seq) == 0 {
		return at
	}
	head := &seq[0]
	if r.back {
		head = &seq[len(seq)-1]
	}
	for at <= end {
		if head.kind == literal && !r.fold {
			if at = r.index(head.text, at, end); at < 0 {
				return -1
			}
		}
		if r.fixed(seq, at) >= 0 {
			return at
		}
		if at >= len(r.s) || !r.spend(1) {
			return -1
		}
		_, at = r.next(at)
	}
	return -1
}

// segments matches all of the text: the first part at the start, the last at
// the end, each between at the first place behind the one before.
func (r *run) segments(parts [][]node) bool {
	at := r.fixed(parts[0], 0)
	if len(parts) == 1 || at < 0 {
		return at == len(r.s)
	}
	mirror := *r
	mirror.back = true
	tail := mirror.fixed(parts[len(parts)-1], 0)
	if r.effort = mirror.effort; tail < 0 {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if at = r.seek(part, at, len(r.s)); at < 0 {
			return false
		}
		at = r.fixed(part, at)
	}
	return at >= 0 && at <= len(r.s)-tail && !r.stopped
}

// along is reach for parts with stars between them.
func (r *run) along(parts [][]node, at int, furthest bool) int {
	part := func(i int) []node {
		if r.back {
			return parts[len(parts)-1-i]
		}
		return parts[i]
	}
	at = r.fixed(part(0), at)
	for i := 1; i < len(parts)-1 && at >= 0; i++ {
		if at = r.seek(part(i), at, len(r.s)); at >= 0 {
			at = r.fixed(part(i), at)
		}
	}
	final := part(len(parts) - 1)
	switch {
	case at < 0 || r.stopped:
		return -1
	case furthest:
		return r.final(final, at)
	}
	if at = r.seek(final, at, len(r.s)); at >= 0 {
		at = r.fixed(final, at)
	}
	return at
}

// final returns the furthest end of a part that starts at or behind a position.
// It is looked for from the other end of the text.
func (r *run) final(part []node, at int) int {
	mirror := *r
	mirror.back = !r.back
	end := mirror.seek(part, 0, len(r.s)-at)
	if end < 0 || mirror.fixed(part, end) > len(r.s)-at || mirror.stopped {
		return -1
	}
	return len(r.s) - end
}

// reach returns the nearest or furthest position to which the pattern leads.
func (r *run) reach(p *Pattern, at int, furthest bool) int {
	if !p.groups && !p.stars {
		return r.fixed(p.seq, at)
	}
	if !p.groups {
		return r.along(p.parts, at, furthest)
	}
	want := first
	if furthest {
		want = last
	}
	set := r.ends(p.seq, r.point(at), want)
	end, ok := set.min()
	if furthest {
		end, ok = set.max()
	}
	if !ok || r.stopped {
		return -1
	}
	return end
}
