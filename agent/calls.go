package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/redact"
	"hako/llm"
	"hako/run/fault"
)

// An outcome is the result of one call.
type outcome struct {
	text    string // what the model reads
	err     error
	skipped bool // the tool was not called
}

// A seenCall is what is kept of an outcome, to detect repetitions.
type seenCall struct {
	text  uint64 // its hash
	err   error
	times int // that the call had this outcome
}

// carryOut runs the calls of a turn and adds their results, one for each, in the order of the calls. In the last turn
// only the tool that ends it is run. That tool comes last wherever it stands: what a model wants done in the same turn
// it wants done before the end.
func (l *loop) carryOut(ctx context.Context, calls []llm.Call, last bool) error {
	results := make([]outcome, len(calls))
	skip := l.turnedDown(calls, results, last)
	leaves := func(i int) bool { return l.Leave != "" && calls[i].Name == l.Leave }
	l.parallel(ctx, calls, results, func(i int) bool { return skip(i) || leaves(i) })
	for i, c := range calls {
		if leaves(i) && !skip(i) {
			results[i] = l.leave(ctx, c, results)
		}
	}
	var fatal error
	for i, c := range calls {
		text, err := l.settle(c, &results[i])
		if i == len(calls)-1 {
			text += "\n" + l.status(l.turn+1)
		}
		l.add(llm.Item{Role: llm.Result, CallID: c.ID, Name: c.Name, Text: text})
		fatal = cmp.Or(fatal, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		l.answer.Partial = true
		return cause
	}
	return fatal
}

// turnedDown refuses the calls over the limits, and returns a function that reports which those are.
func (l *loop) turnedDown(calls []llm.Call, results []outcome, last bool) func(i int) bool {
	most, ran := cmp.Or(l.Calls, 8), 0
	for i, c := range calls {
		e := &fault.Error{Kind: fault.Exhausted, Op: "call " + c.Name}
		switch {
		case last && c.Name != l.Leave:
			e.Why, e.Hint = "this is the last turn", "only "+l.Leave+" can be called now"
		case ran == most:
			e.Why, e.Hint = fmt.Sprintf("only the first %d calls of a turn are carried out", most), l.whenToCall()
		default:
			ran++
			continue
		}
		e.Later = !l.last(l.turn + 1)
		results[i] = outcome{err: e, skipped: true}
	}
	return func(i int) bool { return results[i].skipped }
}

// whenToCall is the hint for calls over the limit of a turn.
func (l *loop) whenToCall() string {
	switch {
	case !l.last(l.turn + 1):
		return "make the rest in the next turn"
	case l.Leave != "":
		return "no more can be made: end with " + l.Leave
	}
	return "no more can be made: answer with what you have"
}

// parallel runs calls on a few goroutines. The same call made twice in one turn is still two calls.
func (l *loop) parallel(ctx context.Context, calls []llm.Call, results []outcome, skip func(i int) bool) {
	threads := min(cmp.Or(l.Threads, 4), len(calls))
	var wg sync.WaitGroup
	slots := make(chan struct{}, threads)
	for i, c := range calls {
		switch {
		case skip(i):
			continue
		case threads == 1:
			results[i] = l.call(ctx, c)
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			results[i] = l.call(ctx, c)
			<-slots
		})
	}
	wg.Wait()
}

// leave calls the tool that ends the work, unless [Agent.Leaving] refuses it.
func (l *loop) leave(ctx context.Context, c llm.Call, results []outcome) outcome {
	if l.Leaving != nil {
		var failed error
		for _, o := range results {
			failed = cmp.Or(failed, o.err)
		}
		if err := l.Leaving(c, failed); err != nil {
			return outcome{err: err, skipped: true}
		}
	}
	return l.call(ctx, c)
}

// call carries out one call and records it. It does not change the loop.
func (l *loop) call(ctx context.Context, c llm.Call) (o outcome) {
	if err := context.Cause(ctx); err != nil {
		return outcome{err: err}
	}
	l.observeCall(c)
	event := audit.Event{What: audit.Called, Actor: l.Actor, ID: l.id + "/" + c.ID, Path: c.Name,
		Script: cleanJSON(l.Secrets, c.Arguments)}
	if err := l.Log.Append(event); err != nil {
		return outcome{err: recordError{err}}
	}
	began := time.Now()
	o.text, o.err = l.try(ctx, c)
	event.What, event.Script, event.Micros, event.Bytes = audit.Answered, "", time.Since(began).Microseconds(),
		int64(len(o.text))
	if o.err != nil {
		event.Error, event.Kind = o.err.Error(), fault.KindOf(o.err).String()
	}
	if err := l.Log.Append(event); err != nil {
		return outcome{err: recordError{err}}
	}
	return o
}

// recordError is the failure to record a call. It ends the loop.
type recordError struct{ error }

func (u recordError) Unwrap() error { return u.error }

// try carries out a call unless the same one was refused before.
func (l *loop) try(ctx context.Context, c llm.Call) (string, error) {
	before, known := l.seen[callKey(c)]
	if known && before.err != nil && !worthRepeating(before.err) && !l.stateful(c.Name) {
		return "", again(c, before.err)
	}
	return l.invoke(ctx, c)
}

// invoke calls the tool. A panic of a tool becomes its error.
func (l *loop) invoke(ctx context.Context, c llm.Call) (text string, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = &fault.Error{Op: "call " + c.Name, Why: fmt.Sprintf("the tool broke: %v", broken),
				Hint: "use another tool, or answer without it"}
		}
	}()
	t, err := l.find(c.Name)
	if err != nil {
		return "", err
	}
	return t.Call(ctx, c.Arguments)
}

func (l *loop) stateful(name string) bool {
	t, err := l.find(name)
	return err == nil && t.Stateful
}

func (l *loop) find(name string) (*tool.Tool, error) {
	var names []string
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i], nil
		}
		names = append(names, l.Tools[i].Name)
	}
	e := &fault.Error{Kind: fault.NotFound, Op: "call", Subject: name, Why: "there is no such tool",
		Hint: "the tools are " + strings.Join(names, ", ")}
	if near, ok := fault.Nearest(name, names); ok {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return nil, e
}

// settle returns the text of an outcome for the model, with a note on repetitions, and the error if it ends the loop.
func (l *loop) settle(c llm.Call, o *outcome) (text string, fatal error) {
	if o.skipped {
		e := audit.Event{What: audit.Called, Actor: l.Actor, ID: l.id + "/" + c.ID, Path: c.Name,
			Script: cleanJSON(l.Secrets, c.Arguments),
			Kind:   fault.KindOf(o.err).String(), Error: o.err.Error()}
		if err := l.Log.Append(e); err != nil {
			return failureText(o.err), err
		}
	}
	text = o.text
	if text == "" && o.err != nil {
		text = failureText(o.err)
	}
	text, places := countJSON(l.Secrets, text)
	if places > 0 {
		text += "\n[" + redact.ModelNote(places) + "]"
	}
	l.observeResult(c, text, o.err)
	if !o.skipped && !l.stateful(c.Name) {
		text = l.repeated(c, text, o.err)
	}
	return text, ending(o.err)
}

// ending returns the error if it must end the loop: no budget, or no record.
func ending(err error) error {
	if lost, ok := errors.AsType[recordError](err); ok {
		return lost.error
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Exhausted && f.Op == "charge" {
		return err
	}
	return nil
}

// repeated adds a note when the same call had the same outcome before.
func (l *loop) repeated(c llm.Call, text string, err error) string {
	key, now := callKey(c), seenCall{maphash.String(l.seed, text), err, 1}
	before, known := l.seen[key]
	if known && before.err != nil && err != nil {
		now.text, now.err = before.text, before.err // the first failure is the one that explains
	}
	if known && now.text == before.text {
		now.times = before.times + 1
		text += fmt.Sprintf("\n[the same call had the same result %d times; do something else, or answer]", now.times)
	}
	l.seen[key] = now
	return text
}

// worthRepeating reports whether the same call may succeed another time.
func worthRepeating(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Other:
		return true
	}
	return false
}

// again is the error of a call that was refused before.
func again(c llm.Call, before error) error {
	return &fault.Error{Kind: fault.KindOf(before), Op: "call " + c.Name,
		Why:  "the same call failed before and was not tried again: " + before.Error(),
		Hint: cmp.Or(fault.Hint(before), "change the arguments, use another tool, or answer without it")}
}

// callKey identifies a call by its tool and arguments, ignoring white space in the JSON.
func callKey(c llm.Call) string {
	var b bytes.Buffer
	b.WriteString(c.Name)
	b.WriteByte(0)
	if json.Compact(&b, []byte(c.Arguments)) != nil {
		return c.Name + "\x00" + c.Arguments
	}
	return b.String()
}

// failureText is what a model reads of an error.
func failureText(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		f = &fault.Error{Kind: fault.KindOf(err), Op: "call", Err: err}
	}
	text, merr := f.MarshalJSON()
	if merr != nil {
		return `{"ok":false}`
	}
	return `{"ok":false,"error":` + string(text) + `}`
}

func (l *loop) observeCall(c llm.Call) {
	l.watch.Lock()
	defer l.watch.Unlock()
	l.observe(Event{Type: "call", ID: c.ID, Name: c.Name, Arguments: cleanJSON(l.Secrets, c.Arguments)})
}

func (l *loop) observeResult(c llm.Call, text string, err error) {
	ok := err == nil
	e := Event{Type: "result", ID: c.ID, Name: c.Name, Text: text, OK: &ok}
	if err != nil {
		e.Kind, e.Hint = fault.KindOf(err).String(), fault.Hint(err)
	}
	l.observe(e)
}
