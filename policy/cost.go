package policy

import (
	"fmt"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// A hostile script can make judging take forever: variables that refer to themselves, functions that call one another,
// nested loops. So the work is counted, and a script that needs too much is refused. The count depends on the script
// and the policy, not on the speed of the machine.

const (
	// maxSteps bounds the work of one judgement. A step is about a nanosecond.
	maxSteps = 64_000_000
	// maxKept bounds the bytes that the verdicts and values of one judgement hold.
	maxKept = 8 << 20
	// maxLevels bounds how deep statements are walked inside one another,
	// through functions and scripts in strings.
	maxLevels = 1500
	// maxJudging is a last resort for a very slow machine, or a step that takes longer than expected.
	maxJudging = 5 * time.Second
	// clockSteps is how many steps pass between two looks at the clock.
	clockSteps = 1 << 20
)

// The cost of operations, in steps.
const (
	costStmt    = 150
	costWord    = 40
	costParam   = 150
	costVerdict = 100
	costJudge   = 700
	costPath    = 150
	costHint    = 30_000
	costResolve = 4000
	costScript  = 10_000 // a script inside a string, however short
	costEntry   = 60     // of a map that is copied or merged
	costParse   = 120    // a byte of a script inside a string
	costShape   = 700    // a byte of a script that is compared in two readings
	costSource  = 8      // a byte of source that is looked through again
	costAwk     = 250    // a byte of an awk program
	costSed     = 30     // a byte of a sed script
	costMatch   = 300    // a byte of a regular expression that is tried
	costRegexp  = 1000   // a byte of a regular expression that is compiled
	costRepeat  = 30     // how much more that is where it repeats a part
	costText    = 15     // a byte of a text that is cut into pieces
	costBrace   = 300    // a word that braces make
)

// A costMeter counts the work of judging one script or one command.
type costMeter struct {
	steps  int // left
	bytes  int // left
	levels int // of statements that are walked inside one another
	clock  int // steps left at the last look at the clock
	until  time.Time

	hints map[string]string // by the name that no rule allows
	links map[string]string // where paths lead to
}

func newCostMeter() *costMeter {
	return &costMeter{steps: maxSteps, bytes: maxKept, clock: maxSteps, until: time.Now().Add(maxJudging)}
}

// An overrun is the panic of a judgement that would cost too much. A panic cannot be ignored on any path through
// the walk.
type overrun struct{ why string }

// spend charges steps.
func (b *costMeter) spend(steps int) {
	if b == nil {
		return
	}
	b.steps -= steps
	if b.steps < 0 || steps < 0 {
		panic(overrun{"it takes too many steps to follow"})
	}
	if b.clock-b.steps > clockSteps {
		b.clock = b.steps
		if time.Now().After(b.until) {
			panic(overrun{"it takes too long to follow"})
		}
	}
}

// keep charges bytes that are kept until the judgement is done.
func (b *costMeter) keep(bytes int) {
	b.bytes -= bytes
	if b.bytes < 0 {
		panic(overrun{"there is too much in it to give a verdict on each part"})
	}
}

// enter charges a level of nested statements; leave gives it back.
func (b *costMeter) enter() {
	b.levels++
	if b.levels > maxLevels {
		panic(overrun{fmt.Sprintf("it is nested more than %d levels deep, through functions and scripts in strings",
			maxLevels)})
	}
}

func (b *costMeter) leave() { b.levels-- }

// source charges for looking through a part of the script again.
func (b *costMeter) source(n syntax.Node) {
	b.spend(costStmt + costSource*sizeOf(n))
}

// sizeOf returns how many bytes of source a node has.
func sizeOf(n syntax.Node) int {
	return max(0, int(n.End().Offset())-int(n.Pos().Offset()))
}

// overrunFinding turns the overrun that recover returned into a refusal. It repeats all other panics.
func overrunFinding(thrown any) *finding {
	if thrown == nil {
		return nil
	}
	over, ok := thrown.(overrun)
	if !ok {
		panic(thrown)
	}
	f := refusal("too much to judge", over.why,
		"write it more simply, or split it into several scripts that run one after the other")
	f.final = true
	return f
}

// cached returns the value of a key, which compute computes once.
func cached(values *map[string]string, key string, compute func() string) string {
	value, ok := (*values)[key]
	if !ok {
		if *values == nil {
			*values = make(map[string]string)
		}
		value = compute()
		(*values)[key] = value
	}
	return value
}
