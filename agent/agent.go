// Package agent runs the loop between a model and its tools: ask the model, carry out the calls of its turn, add their
// results to the dialog, ask again.
//
// An [Agent] is an llm.Model, tools (package tool), a budget and a log; [Agent.Run] works on one [Request].
// [ChargedModel] charges and records each call of a model, [Agent.Observe] receives each [Event].
//
// The package knows no provider and no runner: its tools already are behind the gate. Every call that a model makes
// gets exactly one result, whatever comes of it, so that the dialog can always be sent again.
package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/redact"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// An Agent is a model with tools and a budget. Model, Budget and Log are required. It is safe for concurrent use if its
// parts are.
type Agent struct {
	Model  llm.Model   // usually a [ChargedModel] behind an [llm.Retry]
	Tools  []tool.Tool // in this order; none means a plain chat
	Budget *quota.Budget
	Log    audit.Log

	ID      string      // prefix of the ids of its calls in the audit log; empty means a random one
	Actor   string      // who asks, for the audit log
	Secrets *redact.Set // values that are never sent to the model; nil means only those that are known by their form

	Turns   int    // how often the model is asked; zero means 4
	Calls   int    // how many calls of one turn are carried out; zero means 8
	Threads int    // how many at the same time; zero means 4
	Context int64  // tokens that the model can hold; zero means 128 000
	Force   string // the tool that must be called first; empty means none

	// Leave is the tool by which the model ends the work: the only one it can call in its last turn, and Left reports
	// whether it has. Empty means that the work ends with a turn without calls.
	Leave string
	Left  func() bool
	// Again is what the model reads after a turn without calls; then it is asked again, at most twice in a row. Nil
	// means that such a turn ends the work.
	Again func() string
	// Leaving is asked before Leave is called, with what became of the other calls of its turn: the first error, nil if
	// there is none. An error of its own refuses the call. Nil means that it is never refused.
	Leaving func(leave llm.Call, failed error) error

	Observe func(Event) // receives the events, in order; nil means no observer
}

// A Request is what a person wants.
type Request struct {
	Text  string
	Files []llm.File // that may be read
	Notes []string   // further lines for the model; nil means none
	Found string     // results of a search before the request; empty means none
}

// An Answer is the outcome of a request.
type Answer struct {
	Text    string // of the model's last turn, or as much as arrived
	Words   string // of the last complete turn without calls, unless calls came after it; also the text beside Leave
	Partial bool   // it was cut
	Turns   int
}

// Run works on a request until the model stops calling tools. It appends to d, which holds the conversation so far, and
// leaves it valid for another request, also when it fails. A partial answer can come together with an error.
func (a *Agent) Run(ctx context.Context, d *llm.Dialog, r Request) (Answer, error) {
	ctx, stop := a.limitTime(ctx)
	defer stop()
	l := &loop{Agent: a, dialog: d, turns: cmp.Or(a.Turns, 4)}
	l.begin(r)
	for l.turn = 1; ; l.turn++ {
		if err := l.step(ctx); err != nil || l.done {
			l.answer.Turns = l.turn
			return l.answer, err
		}
	}
}

// limitTime applies the deadline of the budget.
func (a *Agent) limitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := a.Budget.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, end, &fault.Error{Kind: fault.Exhausted, Op: "work",
		Why:  "the time of the budget is up",
		Hint: "raise quota.wall, or split the task"})
}

// A loop is the state of one Run.
type loop struct {
	*Agent
	dialog *llm.Dialog
	turns  int
	turn   int
	done   bool
	silent int // turns without calls, in a row
	answer Answer
	id     string          // begins the ids of its calls on record
	first  int             // where the items of this request begin
	weight int64           // estimated tokens of all items
	said   strings.Builder // the text of the current turn so far
	seen   map[string]seenCall
	seed   maphash.Seed
	watch  sync.Mutex // serializes events of concurrent calls
}

func (l *loop) begin(r Request) {
	d := l.dialog
	if d.Tools == nil {
		for _, t := range l.Tools {
			d.Tools = append(d.Tools, t.Tool)
		}
	}
	l.weight = d.Weight()
	l.first = len(d.Items)
	l.seen = make(map[string]seenCall)
	l.seed = maphash.MakeSeed()
	l.id = cmp.Or(l.ID, NewID())
	r.Text = l.clean(r.Text) // before notes are added: a secret may seem to extend to the end
	l.add(llm.Item{Role: llm.User, Text: l.annotated(r)})
	if r.Found != "" {
		l.add(llm.Item{Role: llm.User, Text: l.clean(r.Found)})
	}
}

// annotated is the request with notes for the model. Without tools there is no note on turns.
func (l *loop) annotated(r Request) string {
	notes := slices.Clip(r.Notes)
	if len(l.Tools) > 0 {
		if len(r.Files) == 0 && notes == nil {
			notes = []string{"Granted files: none"}
		}
		notes = append(notes, l.status(1))
	}
	return llm.Annotate(r.Text, r.Files, notes...)
}

func (l *loop) clean(text string) string { return l.Secrets.Text(text) }

// add puts an item at the end of the dialog.
func (l *loop) add(it llm.Item) {
	l.dialog.Items = append(l.dialog.Items, it)
	l.weight += it.Weight()
}

// last reports whether the model may be asked only once more.
func (l *loop) last(turn int) bool { return turn >= l.turns || l.Budget.Left().Calls() <= 1 }

// status is the note on what the model has left. It has no times, so that the same work makes the same requests.
func (l *loop) status(turn int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[turn %d of %d", turn, l.turns)
	left := l.Budget.Left()
	for _, name := range []string{"calls", "tokens"} {
		if n := left.Of(name); n != quota.NoLimit {
			fmt.Fprintf(&b, "; %d %s left", n, name)
		}
	}
	switch {
	case !l.last(turn) || len(l.Tools) == 0:
	case l.Leave != "":
		fmt.Fprintf(&b, "; FINAL CALL: only %s is left", l.Leave)
	default:
		b.WriteString("; this is your last turn, tools are off: answer now with what you have")
	}
	b.WriteByte(']')
	return b.String()
}

// step is one turn: the model is asked and its calls are carried out.
func (l *loop) step(ctx context.Context) error {
	last := l.last(l.turn)
	if err := l.fit(l.limit()); err != nil {
		return err
	}
	l.observe(Event{Type: "turn"})
	turn, err := l.next(ctx, last)
	if err != nil {
		l.interrupted()
		return err
	}
	calls := l.unique(turn)
	if len(calls) > 0 || turn.Text != "" || l.Again == nil { // servers refuse a turn with nothing in it
		l.add(l.cleaned(turn))
	}
	l.answer.Text = l.clean(turn.Text)
	switch {
	case turn.Cut != "":
		return l.cutShort(turn)
	case len(calls) == 0:
		l.spoke(last)
		return nil
	case last && l.Leave == "":
		return l.overrun(calls)
	}
	l.silent = 0
	l.noteWords(calls)
	err = l.carryOut(ctx, calls, last)
	l.done = l.Left != nil && l.Left()
	if err == nil && last && !l.done {
		return l.overrun(nil)
	}
	return err
}

// next asks the model, and once more with a shorter dialog if it was too long.
func (l *loop) next(ctx context.Context, last bool) (*llm.Turn, error) {
	d := *l.dialog
	d.Choice = l.choice(last)
	l.said.Reset()
	d.OnText = func(piece string) {
		l.said.WriteString(piece)
		l.observe(Event{Type: "text", Text: piece})
	}
	turn, err := l.Model.Next(ctx, &d)
	refusal, ok := errors.AsType[*llm.Refusal](err)
	if ok && refusal.Code == llm.ContextOverflow && l.said.Len() == 0 {
		if ferr := l.fit(l.weight / 2); ferr != nil {
			return nil, err
		}
		d.Items = l.dialog.Items
		turn, err = l.Model.Next(ctx, &d)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err == nil && l.said.Len() == 0 && turn.Text != "" {
		d.OnText(turn.Text) // a model that does not stream
	}
	return turn, err
}

// choice says which tools may be called in this turn.
func (l *loop) choice(last bool) llm.Choice {
	switch {
	case len(l.dialog.Tools) == 0:
		return llm.Choice{}
	case last:
		return llm.Choice{None: l.Leave == "", Name: l.Leave}
	case l.turn == 1:
		return llm.Choice{Name: l.Force}
	}
	return llm.Choice{}
}

// cleaned is a turn as an item, without secrets: a server may echo what it was sent.
func (l *loop) cleaned(turn *llm.Turn) llm.Item {
	it := turn.Item()
	it.Text = l.clean(it.Text)
	it.Calls = slices.Clone(it.Calls)
	for i := range it.Calls {
		if args := cleanJSON(l.Secrets, it.Calls[i].Arguments); args != it.Calls[i].Arguments {
			it.Calls[i].Arguments, it.Raw = args, nil
		}
	}
	return it
}

// interrupted keeps the text of a turn that was not completed.
func (l *loop) interrupted() {
	l.answer.Partial = true
	if l.answer.Text = l.clean(l.said.String()); l.answer.Text != "" {
		l.add(llm.Item{Role: llm.Assistant, Text: l.answer.Text + " […]"})
	}
}

// cutShort ends the work when the model could not finish its turn. Its calls may be incomplete, so none of them is
// carried out.
func (l *loop) cutShort(turn *llm.Turn) error {
	l.answer.Partial = true
	l.refuseAll(turn.Calls, "the turn was cut short")
	why, hint := "the answer is longer than the model may write", "raise model.max_output, or ask for less"
	if turn.Cut == "content_filter" {
		why, hint = "the provider's content filter stopped the answer", "word the request differently"
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: turn.Model, Why: why, Hint: hint}
}

// overrun ends the work of a model that still calls tools after its last turn.
func (l *loop) overrun(calls []llm.Call) error {
	l.answer.Partial = true
	l.refuseAll(calls, "no turn is left")
	turns := fmt.Sprintf("%d turns", l.turn)
	if l.turn == 1 {
		turns = "1 turn"
	}
	hint, flagHint := l.moreTurns()
	return &fault.Error{Kind: fault.Exhausted, Op: "work",
		Why: "after " + turns + " the model still calls tools instead of answering", Hint: hint, FlagHint: flagHint}
}

// moreTurns is the hint on how to allow more. The budget comes first: where it is spent, more turns are of no use.
func (l *loop) moreTurns() (hint, flagHint string) {
	if l.Budget.Left().Calls() < 1 {
		return "raise quota.calls, or ask for less at once", ""
	}
	return "raise run.turns, or ask for less at once", "allow more with --turns, or ask for less at once"
}

func (l *loop) refuseAll(calls []llm.Call, why string) {
	for _, c := range calls {
		l.add(llm.Item{Role: llm.Result, CallID: c.ID, Name: c.Name,
			Text: failureText(&fault.Error{Kind: fault.Exhausted, Op: "call " + c.Name, Why: why})})
	}
}

// unique removes calls with a duplicate id from a turn: an id can have only one result.
func (l *loop) unique(turn *llm.Turn) []llm.Call {
	ids := make(map[string]bool, len(turn.Calls))
	kept := turn.Calls[:0:0]
	for _, c := range turn.Calls {
		if !ids[c.ID] {
			kept = append(kept, c)
		}
		ids[c.ID] = true
	}
	if len(kept) < len(turn.Calls) {
		l.observe(Event{Type: "note", Text: "the model gave two calls the same id; only the first was carried out"})
		turn.Calls, turn.Raw = kept, nil // Raw may spell the twins
	}
	return kept
}

// NewID returns a random id for a run.
func NewID() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
