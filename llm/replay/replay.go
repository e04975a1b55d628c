// Package replay is a model that replays the turns of a file, and a recorder of the turns of another model into such a
// file.
//
// The file holds one JSON object a line, each a turn; empty lines and lines that start with # are skipped:
//
//	# the model looks, then answers
//	{"calls":[{"name":"execute","arguments":{"command":"wc -l a"}}]}
//	{"text":"It has 12 lines.","expect":"\\b12\\b","usage":{"input_tokens":90,"output_tokens":8}}
//
// These are the fields, all optional:
//
//	text       what the model says
//	pieces     a list of texts instead of that, streamed just so
//	calls      a list of {id, name, arguments}; a missing id is made up.
//	           arguments is an object, or a string that is passed on as it
//	           stands, JSON or not; without any they are {}
//	usage      {input_tokens, cached_tokens, output_tokens}; the first is without
//	           the second
//	model      which one answered; without it, "script"
//	cut        "length" or "content_filter": the model had to stop
//	raw        what the provider wants to see again, as [llm.Turn] has it,
//	source     and whose spelling that is
//	error      {status, code, message, after_ms, retry, why, hint}: after the
//	           text, if there is one, the provider refuses
//	delay_ms   time to wait before anything of that
//	expect     a regular expression that the last item of the dialog must match
//
// Opening files, and keeping secrets out of them, is up to the caller. Whatever [Recorder] writes, [Parse] reads and
// [Script] replays unchanged.
package replay

import (
	"context"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	"hako/internal/text"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// A Script is a model that replays the turns of a file, each once and in their order. It is safe for concurrent use.
type Script struct {
	steps []step
	given atomic.Int64 // may be more than there are
}

// A step is a turn to replay, or a refusal.
type step struct {
	turn   llm.Turn
	pieces []string // nil means the text in small ones
	err    error    // instead of the turn
	delay  time.Duration
	expect *regexp.Regexp // nil means anything
}

// Left returns how many turns are left.
func (s *Script) Left() int { return max(0, len(s.steps)-int(s.given.Load())) }

// Ahead returns the usage of the next turn; zero if there is none, or it is a refusal.
func (s *Script) Ahead() quota.Usage {
	n := int(s.given.Load())
	if n >= len(s.steps) || s.steps[n].err != nil {
		return quota.Usage{}
	}
	return s.steps[n].turn.Usage
}

// Next implements [llm.Model].
func (s *Script) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	n := int(s.given.Add(1))
	if n > len(s.steps) {
		return nil, s.over()
	}
	st := &s.steps[n-1]
	if err := pause(ctx, st.delay); err != nil {
		return nil, err
	}
	if err := st.meets(n, d); err != nil {
		return nil, err
	}
	if err := st.say(ctx, d.OnText); err != nil {
		return nil, err
	}
	if st.err != nil {
		return nil, st.err
	}
	return &st.turn, nil // each step is returned only once
}

func (s *Script) over() error {
	why := fmt.Sprintf("the script has only %d turns", len(s.steps))
	if len(s.steps) == 1 {
		why = "the script has only 1 turn"
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: "script", Why: why,
		Hint: "add a line to the script, or end the conversation with a turn that calls no tool"}
}

// meets returns an error if the last item of the dialog is not the expected one.
func (st *step) meets(n int, d *llm.Dialog) error {
	if st.expect == nil {
		return nil
	}
	last := ""
	if len(d.Items) > 0 {
		last = d.Items[len(d.Items)-1].Text
	}
	if st.expect.MatchString(last) {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "replay turn", Subject: fmt.Sprint(n),
		Why:  fmt.Sprintf("%q does not match %q", text.Prefix(last, 120), st.expect),
		Hint: "the conversation went another way than when the script was written"}
}

// say streams the text until ctx is canceled.
func (st *step) say(ctx context.Context, on func(string)) error {
	if on == nil {
		return nil
	}
	for piece := range st.streamed {
		on(piece)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// streamed yields the pieces of the text: those of the script, or small ones that end between characters.
func (st *step) streamed(yield func(string) bool) {
	for _, piece := range st.pieces {
		if !yield(piece) {
			return
		}
	}
	rest := st.turn.Text
	for st.pieces == nil && rest != "" {
		piece := text.Prefix(rest, 16)
		if !yield(piece) {
			return
		}
		rest = rest[len(piece):]
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
