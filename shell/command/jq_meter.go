package command

import (
	"context"
	"fmt"

	"hako/run/fault"
	"hako/shell"
)

// A jqMeter holds a jq program to the limits of the session: depth, time and
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
// refer to are measured, and the count becomes what they hold ([jqMeter.trace]).
type jqMeter struct {
	ctx  context.Context
	call *shell.Call

	roots   []jqRoot // one for each filter that runs
	extra   any      // an operand that is in no entry
	waiting *[]any   // inputs that were read and wait
	calls   int      // nested calls of functions of the program

	fixed int64 // bytes that live as long as the program: the program, its arguments
	count int64 // bytes of values, living or not
	held  int64 // charged to the gauge
	next  int64 // trace when count passes this
	pins  int   // native functions at work, whose results no entry refers to yet
	pinAt int64 // count when the first of them began
	epoch uint32
	work  int64
}

// A jqRoot is what a running filter refers to.
type jqRoot struct {
	v any
	p *jqPath
}

const (
	jqSlack     = 256 << 10 // bytes charged ahead
	jqSlice     = 4 << 20   // bytes that may be counted between two traces, at least
	jqMaxDepth  = 10_000    // nested calls, and nesting of values
	jqMaxFrames = 150_000   // nested filters; each takes a few hundred bytes of stack
	jqStep      = 1 << 10   // the work of a step, in bytes looked at
	jqWork      = 1 << 20   // the work between two looks at the clock
)

func newJqMeter(ctx context.Context, c *shell.Call) *jqMeter {
	return &jqMeter{ctx: ctx, call: c, next: jqSlice}
}

// alloc counts n bytes that are about to be allocated.
func (m *jqMeter) alloc(n int64) error {
	if m.work += n; m.work >= jqWork {
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
func (m *jqMeter) charge(n int64) error {
	gauge := m.call.Limiter
	if ahead := max(jqSlack, m.count/16); m.count > m.next || gauge.Room() < m.count+ahead-m.held {
		m.count -= n
		if err := m.trace(); err != nil {
			return err
		}
		m.count += n
	}
	more := m.count + max(jqSlack, m.count/16) - m.held
	if gauge.Room() < more && m.count < 16*jqSlack {
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

// keep counts n bytes that live until the program ends.
func (m *jqMeter) keep(n int64) error {
	m.fixed += n
	return m.alloc(n)
}

// pin begins a native function: what is counted until unpin stays counted.
func (m *jqMeter) pin() {
	if m.pins == 0 {
		m.pinAt = m.count
	}
	m.pins++
}

func (m *jqMeter) unpin() { m.pins-- }

// release gives everything back when the program ends.
func (m *jqMeter) release() {
	m.call.Limiter.Hold(-m.held)
	m.held = 0
}

// step counts a step and looks now and then whether the script must end.
func (m *jqMeter) step() error { return m.spend(jqStep) }

// spend counts n bytes that are looked at.
func (m *jqMeter) spend(n int64) error {
	if m.work += n; m.work < jqWork {
		return nil
	}
	return m.check()
}

// check returns the error of a script that must end.
func (m *jqMeter) check() error {
	m.work = 0
	if m.ctx.Err() != nil {
		return firstError(m.call.Limiter.Err(), context.Cause(m.ctx))
	}
	return nil
}

// enter is called before the evaluation nests; leave with the returned place
// undoes it, and the entries above it too. After an error nothing has to be
// undone, as no program goes on after it.
func (m *jqMeter) enter() (at int, err error) {
	at = len(m.roots)
	m.roots = append(m.roots, jqRoot{})
	if m.work += jqStep; m.work >= jqWork || at >= jqMaxFrames {
		err = m.entered(at)
	}
	return at, err
}

func (m *jqMeter) entered(at int) error {
	if at >= jqMaxFrames {
		return jqTooDeep(jqMaxFrames)
	}
	return m.check()
}

func (m *jqMeter) leave(at int) {
	if len(m.roots) > at+1 {
		clear(m.roots[at+1:])
	}
	m.roots[at] = jqRoot{}
	m.roots = m.roots[:at]
}

// invoke is enter for functions of the program, of which fewer may nest.
func (m *jqMeter) invoke() (at int, err error) {
	if m.calls++; m.calls > jqMaxDepth {
		return 0, jqTooDeep(jqMaxDepth)
	}
	return m.enter()
}

func (m *jqMeter) returned(at int) {
	m.calls--
	m.leave(at)
}

func jqTooDeep(most int) error {
	return &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: fmt.Sprintf("it went over the limit depth=%d of jq", most),
		Hint: "use reduce, foreach, until or range instead of recursion"}
}
