// Package quota limits what models and scripts use.
//
// A [Budget] enforces the [Limits] of a whole task with everything that it starts:
// calls and tokens of models, bytes, scripts and time. A [SharedBudget] is what
// all tasks on this machine may use together, kept in a [UsageFile]. A [Limiter]
// enforces the [ScriptLimits] of one running script: memory, output, loops, time.
//
// Amounts are whole numbers. They are charged before, or at the latest when, they
// are used; exceeding a limit is an error.
package quota

import (
	"fmt"
	"math"
	"sync"
	"time"

	"hako/run/fault"
)

// Usage is an amount that was used. Input does not include Cached.
type Usage struct {
	Input   int64 `json:"input_tokens"`
	Cached  int64 `json:"cached_tokens"`
	Output  int64 `json:"output_tokens"`
	Calls   int64 `json:"calls"`   // of a model
	Read    int64 `json:"read"`    // bytes of files
	Written int64 `json:"written"` // bytes to files and streams
	Scripts int64 `json:"scripts"` // handed to a runner
}

// Less returns u without v, which is a part of it.
func (u Usage) Less(v Usage) Usage {
	return Usage{
		Input: u.Input - v.Input, Cached: u.Cached - v.Cached, Output: u.Output - v.Output, Calls: u.Calls - v.Calls,
		Read: u.Read - v.Read, Written: u.Written - v.Written, Scripts: u.Scripts - v.Scripts,
	}
}

// Add returns the sum of two amounts.
func (u Usage) Add(v Usage) Usage {
	for _, n := range []struct{ to, by *int64 }{
		{&u.Input, &v.Input}, {&u.Cached, &v.Cached}, {&u.Output, &v.Output}, {&u.Calls, &v.Calls},
		{&u.Read, &v.Read}, {&u.Written, &v.Written}, {&u.Scripts, &v.Scripts},
	} {
		*n.to = plus(*n.to, *n.by)
	}
	return u
}

// most is the largest amount. Reported usage may be any number, and a sum that overflows would be an endless
// budget.
const most = math.MaxInt64 / 4

// plus adds amounts; negative ones count as zero.
func plus(a, b int64) int64 { return min(min(max(a, 0), most)+min(max(b, 0), most), most) }

// times multiplies amounts in the same way.
func times(a, b int64) int64 {
	a, b = min(max(a, 0), most), min(max(b, 0), most)
	if b != 0 && a > most/b {
		return most
	}
	return a * b
}

// Weights are the weights of tokens in quarters, so that sums stay whole.
type Weights struct{ Input, Cached, Output int64 }

// DefaultWeights weigh cached input a quarter and output four times.
func DefaultWeights() Weights { return Weights{Input: 4, Cached: 1, Output: 16} }

// Quarters returns the weighted tokens of u in quarters.
func (w Weights) Quarters(u Usage) int64 {
	return plus(plus(times(u.Input, w.Input), times(u.Cached, w.Cached)), times(u.Output, w.Output))
}

// Tokens returns the weighted tokens of u by the default weights, rounded up.
func (u Usage) Tokens() int64 { return whole(DefaultWeights().Quarters(u)) }

func whole(quarters int64) int64 { return (quarters + 3) / 4 }

// NoLimit in a field of [Limits] removes the limit.
const NoLimit = math.MaxInt64

// Limits are what a task may use in all. A zero field means the default of [DefaultLimits]; a negative one allows
// nothing.
type Limits struct {
	Calls   int64
	Tokens  int64 // weighted
	Read    int64 // bytes
	Written int64 // bytes
	Scripts int64
	Wall    time.Duration // since [New]

	// Weights are the weights of models by name, and under "" of all others; nil
	// means [DefaultWeights].
	Weights map[string]Weights
}

// DefaultLimits are the limits of a model by default.
func DefaultLimits() Limits {
	return Limits{Calls: 50, Tokens: 1_000_000, Read: 1 << 30, Written: 256 << 20, Scripts: 1000, Wall: time.Hour}
}

// Unlimited removes all limits, for a person at a terminal, who can press Ctrl-C.
func Unlimited() Limits {
	return Limits{Calls: NoLimit, Tokens: NoLimit, Read: NoLimit, Written: NoLimit, Scripts: NoLimit, Wall: NoLimit}
}

func (b Limits) amounts() amounts {
	return amounts{b.Calls, b.Tokens, b.Read, b.Written, b.Scripts, int64(b.Wall)}
}

// LimitNames are the names of [Limits] in settings and messages.
var LimitNames = [...]string{"calls", "tokens", "read", "written", "scripts", "wall"}

var units = [...]string{"calls", "tokens", "bytes read", "bytes written", "scripts", "time"}

const wall = len(LimitNames) - 1

// amounts has one number for each of [LimitNames].
type amounts [len(LimitNames)]int64

// Set sets one limit by its name, as in "read=10MB". "none" removes it.
func (b *Limits) Set(name, value string) error {
	return setLimit("quota", name, value, LimitNames[:], []limitField{
		{parseCount, &b.Calls}, {parseCount, &b.Tokens}, {ParseSize, &b.Read}, {ParseSize, &b.Written},
		{parseCount, &b.Scripts}, {parseTime, (*int64)(&b.Wall)},
	}, true)
}

// A Budget adds up usage and fails when a limit is exceeded. What a child uses, its parents use, too. A nil
// Budget and the zero Budget refuse everything. It is safe for concurrent use.
type Budget struct {
	parent  *Budget
	limits  amounts
	weights map[string]Weights
	began   time.Time

	mu       sync.Mutex // guards what follows
	used     Usage
	quarters int64
}

// New returns the budget of one task. Its time starts now.
func New(b Limits) *Budget {
	limits, usual := b.amounts(), DefaultLimits().amounts()
	for i, n := range limits {
		switch {
		case n == 0:
			limits[i] = usual[i]
		case n < 0:
			limits[i] = 0
		}
	}
	return &Budget{limits: limits, weights: b.Weights, began: time.Now()}
}

// Child returns a budget for a part of the task. A zero field of b means all that is left; it never gets more.
func (m *Budget) Child(b Limits) *Budget {
	c := &Budget{parent: m, limits: b.amounts(), weights: b.Weights, began: time.Now()}
	left := m.Left()
	for i, n := range c.limits {
		if max := left.n[i]; n == 0 || n > max {
			c.limits[i] = max
		} else if n < 0 {
			c.limits[i] = 0
		}
	}
	return c
}

// Charge adds u by the default weights. The error is [fault.Exhausted] if this budget, or a parent, is exceeded;
// the usage is added either way.
func (m *Budget) Charge(u Usage) error { return m.ChargeModel("", u) }

// ChargeModel adds u by the weights of the named model.
func (m *Budget) ChargeModel(model string, u Usage) error {
	if m == nil {
		return &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: "there is no budget"}
	}
	quarters := m.weightsOf(model).Quarters(u)
	var first error
	for ; m != nil; m = m.parent {
		if err := m.add(u, quarters); first == nil {
			first = err
		}
	}
	return first
}

// Weigh returns the weighted tokens of u for the named model, rounded up.
func (m *Budget) Weigh(model string, u Usage) int64 { return whole(m.weightsOf(model).Quarters(u)) }

// weightsOf looks up the weights of a model here and in the parents.
func (m *Budget) weightsOf(model string) Weights {
	usual := DefaultWeights()
	for ; m != nil; m = m.parent {
		if w, ok := m.weights[model]; ok {
			return w
		}
		if w, ok := m.weights[""]; ok {
			usual = w
		}
	}
	return usual
}

func (m *Budget) add(u Usage, quarters int64) error {
	m.mu.Lock()
	m.used = m.used.Add(u)
	m.quarters = plus(m.quarters, quarters)
	used := m.amounts()
	m.mu.Unlock()
	for i, n := range used {
		if n > m.limits[i] {
			return over(i, n, m.limits[i])
		}
	}
	return nil
}

// amounts returns what is used. The caller holds mu.
func (m *Budget) amounts() amounts {
	u := &m.used
	a := amounts{u.Calls, whole(m.quarters), u.Read, u.Written, u.Scripts}
	if m.limits[wall] != NoLimit {
		a[wall] = int64(time.Since(m.began))
	}
	return a
}

func over(i int, used, limit int64) error {
	why := fmt.Sprintf("used %d of %d %s", used, limit, units[i])
	if i == wall {
		why = fmt.Sprintf("used %v of %v", time.Duration(used).Round(time.Millisecond), time.Duration(limit))
	}
	return &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: why,
		Hint: fmt.Sprintf("raise quota.%s, or split the task", LimitNames[i])}
}

// Used returns what was charged so far.
func (m *Budget) Used() Usage {
	if m == nil {
		return Usage{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Left returns what may still be used here and in all parents.
func (m *Budget) Left() Left {
	if m == nil {
		return Left{}
	}
	l := Left{of: m.limits}
	for i := range l.n {
		l.n[i] = NoLimit
	}
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		used := m.amounts()
		m.mu.Unlock()
		for i, limit := range m.limits {
			if limit != NoLimit {
				l.n[i] = min(l.n[i], max(0, limit-used[i]))
			}
		}
	}
	return l
}

// Deadline returns when the time is up; false means never.
func (m *Budget) Deadline() (time.Time, bool) {
	left := m.Left().n[wall]
	if left == NoLimit {
		return time.Time{}, false
	}
	return time.Now().Add(time.Duration(left)), true
}
