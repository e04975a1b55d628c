package builtin

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"

	"hako/internal/fault"
	"hako/internal/shell"
)

// A jqMeter holds a jq program to the limits of the session. Every value that
// is made is counted before it is made. What was counted and dropped again is
// not known, so when the count has grown by a slice of the budget the heap is
// measured and what really lives is charged to the gauge.
type jqMeter struct {
	ctx   context.Context
	call  *shell.Call
	base  int64 // what others hold in the heap; -1 while not known
	count int64 // bytes counted since then, corrected by measuring
	next  int64 // measure when count passes this
	held  int64 // charged to the gauge
	steps int
	depth int
}

const (
	jqSlice    = 24 << 20 // bytes between two measurements
	jqMaxDepth = 10_000   // nested calls, and nesting of values
)

func newJqMeter(ctx context.Context, c *shell.Call) *jqMeter {
	return &jqMeter{ctx: ctx, call: c, next: jqSlice, base: -1}
}

func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// alloc counts n bytes that are about to be allocated.
func (m *jqMeter) alloc(n int64) error {
	m.count += n
	if m.count <= m.next {
		return nil
	}
	m.count -= n
	if err := m.measure(); err != nil {
		return err
	}
	if err := m.call.Gauge.Fits(n); err != nil {
		return err
	}
	m.count += n
	return nil
}

// measure charges the gauge with what lives. The heap still holds garbage; it
// is collected the first time, to know what others hold, and then only if it
// looks as if too much was held.
func (m *jqMeter) measure() error {
	gauge := m.call.Gauge
	if m.base < 0 {
		runtime.GC()
		m.base = max(liveHeap()-m.count, 0)
	}
	live := min(max(liveHeap()-m.base, 0), m.count)
	if room := gauge.Limits().Memory - (gauge.Held() - m.held); live+jqSlice > room {
		runtime.GC()
		live = min(max(liveHeap()-m.base, 0), m.count)
	}
	if err := gauge.Hold(live - m.held); err != nil {
		return err
	}
	m.held, m.count, m.next = live, live, live+jqSlice
	return nil
}

// release gives everything back when the program ends.
func (m *jqMeter) release() { m.call.Gauge.Hold(-m.held) }

// step counts a step and looks now and then whether the script must end.
func (m *jqMeter) step() error {
	if m.steps++; m.steps&1023 != 0 {
		return nil
	}
	if m.ctx.Err() != nil {
		return firstError(m.call.Gauge.Err(), context.Cause(m.ctx))
	}
	return nil
}

// enter is called before the evaluation nests; leave undoes it.
func (m *jqMeter) enter() error {
	if m.depth++; m.depth > jqMaxDepth {
		return &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: fmt.Sprintf("it went over the limit depth=%d of jq", jqMaxDepth),
			Hint: "use reduce, foreach, until or range instead of recursion"}
	}
	return m.step()
}

func (m *jqMeter) leave() { m.depth-- }
