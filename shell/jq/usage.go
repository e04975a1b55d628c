package jq

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"hako/quota"
	"hako/run/fault"
)

// Usage accounts for the depth, time and memory of a jq program and holds it to
// the limits of the session. When a limit is exceeded, it ends the program by a panic,
// which [Usage.Guard] turns into an error.
//
// Depth. Filters call one another, so a running program nests Go calls, and an
// overflow of Go's stack ends the process. Every filter that calls another one
// has an entry in roots while it runs, and the number of entries is bounded.
//
// Time. Entries, steps and bytes read are counted as work; the context is
// checked each time the work of about a millisecond was counted.
//
// Memory. Every value is counted before it is made, and the count is charged to
// the limiter. The count does not shrink when values become garbage. When it has
// doubled or the session has no room left, the values that the entries in roots
// refer to are measured, and the count becomes their size ([Usage.trace]).
type Usage struct {
	ctx  context.Context
	host Host

	roots   []rootEntry // one for each filter that runs
	extra   any         // an operand that is in no entry
	Waiting *[]any      // inputs that were read but not used yet
	calls   int         // nested calls of functions of the program
	frames  int         // nested filters whose stack is counted

	Fixed int64 // bytes that live as long as the program: the program, its arguments
	count int64 // bytes of values, garbage included
	held  int64 // charged to the limiter
	next  int64 // trace when count passes this
	pins  int   // native functions that run
	pinAt int64 // count when the first of them began
	epoch uint32
	work  int64
}

// A rootEntry is what a running filter refers to.
type rootEntry struct {
	v any
	p *valuePath
}

const (
	slack         = 256 << 10 // bytes charged ahead
	traceInterval = 4 << 20   // bytes that may be counted between two traces, at least
	maxDepth      = 10_000    // nested calls, and nesting of values
	maxFrames     = 150_000   // nested filters
	minFrames     = 4 << 10   // nested filters whose stack is counted at first
	frameSize     = 512       // bytes of Go stack of a nested filter, about
	stepCost      = 1 << 10   // the work of a step, in bytes read
	checkInterval = 1 << 20   // the work between two checks of the context
)

// A Host provides what a program may use of its session.
type Host struct {
	Limiter *quota.Limiter // limits its memory; nil counts nothing
	Now     func() time.Time
	Environ func() []string // for $ENV and env, as NAME=value
	Stderr  io.Writer       // for debug, stderr and input_line_number
}

func newUsage(ctx context.Context, h Host) *Usage {
	return &Usage{ctx: ctx, host: h, next: traceInterval}
}

// A stop is the panic that ends a program.
type stop struct{ err error }

// Guard calls f. If a limit ends the program meanwhile, its error is returned.
func (u *Usage) Guard(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	return f()
}

// Alloc counts n bytes that are about to be allocated.
func (u *Usage) Alloc(n int64) {
	if u.work += n; u.work >= checkInterval {
		u.check()
	}
	if u.count += n; u.count > u.held {
		u.charge(n)
	}
}

// charge brings the limiter up to the count, of which n bytes are not
// allocated yet. Some is charged ahead, in proportion, so that a program near
// its limit does not trace at every step.
func (u *Usage) charge(n int64) {
	limiter := u.host.Limiter
	if ahead := max(slack, u.count/16); u.count > u.next || limiter.Room() < u.count+ahead-u.held {
		u.count -= n
		u.trace()
		u.count += n
	}
	more := u.count + max(slack, u.count/16) - u.held
	if limiter.Room() < more && u.count < 16*slack {
		more = u.count - u.held // little is held: it may take the last bytes
	}
	if more <= 0 {
		return
	}
	if err := limiter.Hold(more); err != nil {
		panic(stop{err})
	}
	u.held += more
}

// Keep counts n bytes that live until the program ends.
func (u *Usage) Keep(n int64) {
	u.Fixed += n
	u.Alloc(n)
}

// Pin begins a native function: no entry refers to its values yet, so
// everything counted until Unpin stays counted.
func (u *Usage) Pin() {
	if u.pins == 0 {
		u.pinAt = u.count
	}
	u.pins++
}

func (u *Usage) Unpin() { u.pins-- }

// Release gives all memory back when the program ends.
func (u *Usage) Release() {
	u.host.Limiter.Hold(-u.held)
	u.held = 0
}

// step counts one step of the program.
func (u *Usage) step() { u.Spend(stepCost) }

// Spend counts n bytes that are read.
func (u *Usage) Spend(n int64) {
	if u.work += n; u.work >= checkInterval {
		u.check()
	}
}

// check ends a program that was cancelled.
func (u *Usage) check() {
	u.work = 0
	if u.ctx.Err() != nil {
		panic(stop{cmp.Or(u.host.Limiter.Err(), context.Cause(u.ctx))})
	}
}

// Enter adds an entry before the evaluation nests. Leave with its index
// removes it, and the entries above it too.
func (u *Usage) Enter() (at int) {
	at = len(u.roots)
	u.roots = append(u.roots, rootEntry{})
	if u.work += stepCost; u.work >= checkInterval || at >= u.frames {
		u.entered(at)
	}
	return at
}

func (u *Usage) entered(at int) {
	switch {
	case at >= maxFrames:
		tooDeep(maxFrames)
	case at >= u.frames:
		u.growStack()
	default:
		u.check()
	}
}

// growStack counts the stack as memory. It doubles as Go's does; where it fills
// memory that nothing counts, the process ends and not the program.
func (u *Usage) growStack() {
	more := max(minFrames, u.frames)
	u.frames += more
	u.Keep(int64(more) * frameSize)
}

func (u *Usage) Leave(at int) {
	if len(u.roots) > at+1 {
		clear(u.roots[at+1:])
	}
	u.roots[at] = rootEntry{}
	u.roots = u.roots[:at]
}

// EnterValue is Enter for walks through nested values, with the limit maxDepth.
func (u *Usage) EnterValue() (at int) {
	if at = u.Enter(); at > maxDepth {
		tooDeep(maxDepth)
	}
	return at
}

// invoke is Enter for functions of the program, of which fewer may nest.
func (u *Usage) invoke() (at int) {
	if u.calls++; u.calls > maxDepth {
		tooDeep(maxDepth)
	}
	return u.Enter()
}

func (u *Usage) returned(at int) {
	u.calls--
	u.Leave(at)
}

func tooDeep(most int) {
	panic(stop{&fault.Error{Kind: fault.Exhausted, Op: "stop script",
		Why:  fmt.Sprintf("it went over the limit depth=%d of jq", most),
		Hint: "use reduce, foreach, until or range instead of recursion"}})
}
