package agent

import (
	"cmp"
	"fmt"
	"slices"

	"hako/llm"
	"hako/run/fault"
)

// limit is how many tokens a dialog may have: the rest of the context is for the answer, and for the error of the
// estimate.
func (l *loop) limit() int64 { return cmp.Or(l.Context, 128_000) * 3 / 4 }

// fit shortens a dialog that is over the limit. This invalidates the provider's cache, so it is done rarely and
// thoroughly: down to half.
func (l *loop) fit(limit int64) error {
	if l.weight <= limit {
		return nil
	}
	before, target := l.weight, limit/2
	// Callers may hold the items; those must not change.
	l.dialog.Items = slices.Clone(l.dialog.Items)
	for _, lighten := range []func(int64){l.dropOutputs, l.dropExchanges, l.dropRounds} {
		if l.weight > target {
			lighten(target)
		}
	}
	if l.weight > limit {
		return &fault.Error{Kind: fault.TooLarge, Op: "ask model",
			Why:  fmt.Sprintf("the request alone is about %d tokens, over the %d that fit", l.weight, limit),
			Hint: "shorten the request, or set model.context if the model can hold more"}
	}
	l.observe(Event{Type: "compacted", Text: fmt.Sprintf("the conversation was shortened from about %d to %d tokens",
		before, l.weight)})
	return nil
}

// keepOutput is the length up to which an old output may stay.
const keepOutput = 200

// dropOutputs replaces old outputs of tools by a note, oldest first. The last round stays: the model has not seen it
// yet.
func (l *loop) dropOutputs(target int64) {
	for i := 0; i < l.lastRound() && l.weight > target; i++ {
		it := &l.dialog.Items[i]
		if it.Role != llm.Result || len(it.Text) <= keepOutput {
			continue
		}
		l.weight -= it.Weight()
		it.Text = fmt.Sprintf("[an output of %d bytes stood here; make the call again if you need it]", len(it.Text))
		l.weight += it.Weight()
	}
}

// lastRound returns where the last turn of the model begins.
func (l *loop) lastRound() int {
	for i, it := range slices.Backward(l.dialog.Items) {
		if it.Role == llm.Assistant {
			return i
		}
	}
	return len(l.dialog.Items)
}

// dropExchanges removes earlier requests with their answers, oldest first.
func (l *loop) dropExchanges(target int64) {
	for l.first > 0 && l.weight > target {
		end := 1
		for end < l.first && l.dialog.Items[end].Role != llm.User {
			end++
		}
		l.drop(0, end)
		l.first -= end
	}
}

// dropRounds removes rounds of this request: a turn of the model together with the results of its calls, as one is not
// valid without the other.
func (l *loop) dropRounds(target int64) {
	for l.weight > target {
		start := l.first
		for start < len(l.dialog.Items) && l.dialog.Items[start].Role == llm.User {
			start++
		}
		if start >= l.lastRound() {
			return
		}
		end := start + 1
		for end < len(l.dialog.Items) && (l.dialog.Items[end].Role == llm.Result || l.dialog.Items[end].Role == llm.System) {
			end++
		}
		l.drop(start, end)
	}
}

func (l *loop) drop(from, to int) {
	for i := from; i < to; i++ {
		l.weight -= l.dialog.Items[i].Weight()
	}
	l.dialog.Items = slices.Delete(l.dialog.Items, from, to)
}
