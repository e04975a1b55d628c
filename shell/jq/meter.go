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

// A Meter holds a jq program to the limits of the session: depth, time and
// memory.
//
// Depth. Filters call one another, so a running program nests Go calls, and an
// overflow of Go's stack ends the process. Every filter that calls another one
// has an entry in roots while it runs, and the number of entries is bounded.
//
// Time. Entries, steps and bytes looked at are counted as work; the context is
// asked each time the work of about a millisecond was counted.
//
// Memory. Every value is counted before it is made, and the count is charged to
// the gauge. Values that were dropped are not seen to go. When the count has
// doubled or the session has no room left, the values that the entries in roots
// refer to are measured, and the count becomes what they hold ([Meter.trace]).
type Meter struct {
	ctx  context.Context
	host Host

	roots   []rootEntry // one for each filter that runs
	extra   any         // an operand that is in no entry
	Waiting *[]any      // inputs that were read and wait
	calls   int         // nested calls of functions of the program
	frames  int         // nested filters whose stack is counted

	Fixed int64 // bytes that live as long as the program: the program, its arguments
	count int64 // bytes of values, living or not
	held  int64 // charged to the gauge
	next  int64 // trace when count passes this
	pins  int   // native functions at work, whose results no entry refers to yet
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
	MaxDepth      = 10_000    // nested calls, and nesting of values
	maxFrames     = 150_000   // nested filters
	minFrames     = 4 << 10   // nested filters whose stack is counted at first
	frameSize     = 512       // bytes of Go stack of a nested filter, about
	stepCost      = 1 << 10   // the work of a step, in bytes looked at
	checkInterval = 1 << 20   // the work between two looks at the clock
)

// A Host is what a program may use of its surroundings.
type Host struct {
	Limiter *quota.Limiter // limits its memory; nil counts nothing
	Now     func() time.Time
	Environ func() []string // what $ENV and env show, as NAME=value
	Stderr  io.Writer       // for debug, stderr and input_line_number
}

func newMeter(ctx context.Context, h Host) *Meter {
	return &Meter{ctx: ctx, host: h, next: traceInterval}
}

// Alloc counts n bytes that are about to be allocated.
func (m *Meter) Alloc(n int64) error {
	if m.work += n; m.work >= checkInterval {
		if err := m.check(); err != nil {
			return err
		}
	}
	if m.count += n; m.count <= m.held {
		return nil
	}
	return m.charge(n)
}

// charge brings what the gauge knows up to the count, of which n bytes are not
// allocated yet. Some is charged ahead, in proportion, so that a program near
// its limit does not trace at every step.
func (m *Meter) charge(n int64) error {
	gauge := m.host.Limiter
	if ahead := max(slack, m.count/16); m.count > m.next || gauge.Room() < m.count+ahead-m.held {
		m.count -= n
		if err := m.trace(); err != nil {
			return err
		}
		m.count += n
	}
	more := m.count + max(slack, m.count/16) - m.held
	if gauge.Room() < more && m.count < 16*slack {
		more = m.count - m.held // little is held: it may take the last bytes
	}
	if more <= 0 {
		return nil
	}
	if err := gauge.Hold(more); err != nil {
		return err
	}
	m.held += more
	return nil
}

// Keep counts n bytes that live until the program ends.
func (m *Meter) Keep(n int64) error {
	m.Fixed += n
	return m.Alloc(n)
}

// Pin begins a native function: what is counted until unpin stays counted.
func (m *Meter) Pin() {
	if m.pins == 0 {
		m.pinAt = m.count
	}
	m.pins++
}

func (m *Meter) Unpin() { m.pins-- }

// Release gives everything back when the program ends.
func (m *Meter) Release() {
	m.host.Limiter.Hold(-m.held)
	m.held = 0
}

// step counts a step and looks now and then whether the script must end.
func (m *Meter) step() error { return m.Spend(stepCost) }

// Spend counts n bytes that are looked at.
func (m *Meter) Spend(n int64) error {
	if m.work += n; m.work < checkInterval {
		return nil
	}
	return m.check()
}

// check returns the error of a script that must end.
func (m *Meter) check() error {
	m.work = 0
	if m.ctx.Err() != nil {
		return cmp.Or(m.host.Limiter.Err(), context.Cause(m.ctx))
	}
	return nil
}

// Enter is called before the evaluation nests; leave with the returned place
// undoes it, and the entries above it too. After an error nothing has to be
// undone, as no program goes on after it.
func (m *Meter) Enter() (at int, err error) {
	at = len(m.roots)
	m.roots = append(m.roots, rootEntry{})
	if m.work += stepCost; m.work >= checkInterval || at >= m.frames {
		err = m.entered(at)
	}
	return at, err
}

func (m *Meter) entered(at int) error {
	switch {
	case at >= maxFrames:
		return TooDeep(maxFrames)
	case at >= m.frames:
		return m.growStack()
	}
	return m.check()
}

// growStack counts the stack as memory. It doubles as Go's does; where it fills
// memory that nothing counts, the process ends and not the program.
func (m *Meter) growStack() error {
	more := max(minFrames, m.frames)
	m.frames += more
	return m.Keep(int64(more) * frameSize)
}

func (m *Meter) Leave(at int) {
	if len(m.roots) > at+1 {
		clear(m.roots[at+1:])
	}
	m.roots[at] = rootEntry{}
	m.roots = m.roots[:at]
}

// invoke is enter for functions of the program, of which fewer may nest.
func (m *Meter) invoke() (at int, err error) {
	if m.calls++; m.calls > MaxDepth {
		return 0, TooDeep(MaxDepth)
	}
	return m.Enter()
}

func (m *Meter) returned(at int) {
	m.calls--
	m.Leave(at)
}

func TooDeep(most int) error {
	return &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: fmt.Sprintf("it went over the limit depth=%d of jq",
		most),
		Hint: "use reduce, foreach, until or range instead of recursion"}
}
