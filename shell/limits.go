package shell

import (
	"context"
	"math"

	"hako/shell/pattern"
)

// workSlice is how much work is done between two looks at the clock. A unit is
// about a byte looked at: a slice takes less than a millisecond or two.
const workSlice = 1 << 16

// spend counts work of an expansion and reports whether it may go on. Whoever
// works on a value of any length calls it for every part of it, because a value
// can be as large as the memory limit.
func (p *proc) spend(work int) bool {
	if p.worked += work; p.worked < workSlice {
		return p.bad == nil
	}
	p.worked = 0
	if err := p.ended(); err != nil {
		p.bad = err
	}
	return p.bad == nil
}

// ended returns why the script must stop, if it must.
func (p *proc) ended() error {
	if err := p.ses.Limiter.Err(); err != nil {
		return err
	}
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	return nil
}

// fits asks whether n bytes can be allocated for a while. Values that are
// short are not worth the question.
func (p *proc) fits(n int) bool {
	if n <= checkFrom {
		return true
	}
	if err := p.ses.Limiter.Fits(int64(n)); err != nil {
		p.bad = err
		return false
	}
	return true
}

// maxDeep bounds how deep expressions nest, whatever they are made of: $(( )),
// [[ ]], ${x:-…}, values that are expressions themselves. A level takes less
// than a kilobyte of Go's stack, whose end no recover stops.
const maxDeep = 10_000

// tooDeep returns why no further function, subshell or script can be entered.
func (p *proc) tooDeep() error {
	if p.depth+p.deep >= maxDeep {
		return p.ses.Limiter.Depth(math.MaxInt)
	}
	return p.ses.Limiter.Depth(p.depth + 1)
}

// deeper enters a level of an expression. The caller calls p.shallower when it
// answers true.
func (p *proc) deeper() bool {
	if p.bad != nil || !p.spend(16) {
		return false
	}
	if p.deep++; p.depth+p.deep > maxDeep {
		p.deep--
		p.fail("expression recursion level exceeded")
		return false
	}
	return true
}

func (p *proc) shallower() { p.deep-- }

// perSpecial is what a character that is special in a pattern takes at most once
// the pattern is compiled.
const perSpecial = 256

// patternSize is what a long pattern takes. Quoted text, of which there can be
// much, takes little more than itself.
func patternSize(src string) int {
	size := 3 * len(src)
	for i := 0; i < len(src) && len(src) > pieceSize/perSpecial; i++ {
		switch src[i] {
		case '\\':
			i++
		case '*', '?', '[', '(', '|':
			size += perSpecial
		}
	}
	return size
}

// compile returns the pattern, with case folding if asked for. What it does is
// counted as work of p.
func (p *proc) compile(src string, fold bool) pattern.Matcher {
	mode := pattern.ExtGlob
	if fold {
		mode |= pattern.Fold
	}
	if !p.fits(patternSize(src)) {
		return noPattern.Under(p.spend)
	}
	pat := compilePattern(src, mode, p.spend)
	if err := pat.Err(); err != nil && p.bad == nil {
		p.fail("%v", err)
	}
	return pat.Under(p.spend)
}

// noPattern stands for a pattern for which there was no room.
var noPattern = pattern.Compile("", 0)

// holdWords charges for words for as long as they are in use: functions that
// call each other and nested loops each keep theirs.
func (p *proc) holdWords(words []string) (release func()) {
	size := wordBytes(words)
	if size <= checkFrom {
		return func() {}
	}
	if err := p.ses.Limiter.Hold(size); err != nil {
		p.stop(err)
		return func() {}
	}
	return func() { _ = p.ses.Limiter.Hold(-size) }
}

// wordBytes is what a list of words weighs.
func wordBytes(words []string) int64 {
	n := int64(0)
	for _, w := range words {
		n += int64(len(w)) + 16
	}
	return n
}

// longestShown is how much of a value a message shows.
const longestShown = 4 << 10

// briefly shortens the arguments of a message: a value can be as large as the
// memory limit.
func briefly(args []any) []any {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			if s := err.Error(); len(s) > 2*longestShown {
				arg = s
			}
		}
		if s, ok := arg.(string); ok && len(s) > 2*longestShown {
			args[i] = s[:longestShown] + "…"
		}
	}
	return args
}
