// Package sessions keeps conversations with the secretary open between turns, for
// people who are not at the terminal, and shows what was said and what is to be done.
//
// How a secretary is assembled, with model, gate and voice, is decided by who opens a
// [Conversation]; what is said and done goes on record behind it. The one rule to
// keep: a conversation has one turn at a time, and whatever is opened is closed.
package sessions

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"hako/internal/app/access"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
	"hako/run/fault"
)

// A Conversation is a conversation that is open: the secretary with all that she works
// with. It may also have
//
//	Busy() bool // a job runs in it: it is not closed because nobody talks
//	Over() bool // its time is up: the next turn is had with another
type Conversation interface {
	// Say is one turn: it returns when she has answered, or ctx has ended. What
	// happens meanwhile is told to the observer it was opened with.
	Say(ctx context.Context, text string) error
	Close()
}

// An OpenOptions is what a Talk is opened for.
type OpenOptions struct {
	Session string                // its number in the store
	Name    string                // by which [Manager.Sessions] and questions call it
	Observe func(secretary.Event) // may be called at any time, by several at once
	Speaks  func() bool           // whether she is to be heard just now
}

// A Manager is a [hako/internal/web/api.Secretary]. Open and Store are required. It is safe for
// concurrent use, and must be closed.
type Manager struct {
	// Open puts a secretary together. The context ends with the conversation.
	Open  func(ctx context.Context, o OpenOptions) (Conversation, error)
	Store *store.Store

	// Silent is why she cannot speak aloud, with a hint; nil means that she can.
	Silent error
	Aloud  bool // she speaks aloud at first, if she can

	Most int           // conversations that are open at once; zero means 16
	Idle time.Duration // after which one is closed; zero means 15 minutes

	mu     sync.Mutex // guards what follows
	open   map[int64]*session
	used   int64 // turns so far: who was used last
	asked  bool  // somebody has chosen whether she speaks
	loud   bool  // what they chose
	closed bool
	life   context.Context
	end    context.CancelCauseFunc
	work   sync.WaitGroup // turns, and conversations that are being closed
}

const (
	usualMost = 16
	usualIdle = 15 * time.Minute
)

// Chat implements [hako/internal/web/api.Secretary].
func (p *Manager) Chat(ctx context.Context, who access.Actor, session, text string, tell func(Turn)) error {
	if err := mayTalk(ctx, who, session, text); err != nil {
		return err
	}
	s, err := p.Store.Resume(session)
	if err != nil {
		return err
	}
	r, err := p.enter(s)
	if err != nil {
		return err
	}
	heard, done := &listener{tell: tell}, make(chan error, 1)
	r.listen(heard)
	go func() { done <- p.have(context.WithoutCancel(ctx), r, text) }()
	select {
	case err = <-done:
	case <-ctx.Done(): // who asked has gone; she goes on
		r.ignore(heard)
		return context.Cause(ctx)
	}
	if err == nil {
		tell(Turn{Type: secretary.Done, Text: heard.words})
	}
	return err
}

// have has a turn and leaves the room. One whose budget is used up is given up:
// the error says so, and the next turn begins with another.
func (p *Manager) have(ctx context.Context, r *session, text string) (err error) {
	spent := true
	defer func() {
		if broken := recover(); broken != nil { // nobody else would catch it
			err = &fault.Error{Op: "talk to secretary", Why: "she broke off unexpectedly", Hint: "say it again",
				Err: fmt.Errorf("%v\n%s", broken, debug.Stack())}
		}
		p.leave(r, spent)
	}()
	err = p.turn(ctx, r, text)
	spent = fault.KindOf(err) == fault.Exhausted
	return err
}

// Stop implements [hako/internal/web/api.Secretary].
func (p *Manager) Stop(ctx context.Context, who access.Actor, session string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case who.Role != access.Operator:
		return &fault.Error{Kind: fault.Denied, Op: "stop secretary", Why: "a reader may look but not stop her",
			Hint: "log in with the token of an operator"}
	}
	s, err := p.Store.Session(session)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[s.ID]; r != nil && r.turning {
		r.stop(&fault.Error{Kind: fault.Denied, Op: "answer", Why: "a person has stopped her",
			Hint: "say what you need instead", Err: context.Canceled})
	}
	return nil
}

// mayTalk refuses what begins no turn.
func mayTalk(ctx context.Context, who access.Actor, session, text string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "talk to secretary", Subject: strconv.Quote(session)}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case who.Role != access.Operator:
		return &fault.Error{Kind: fault.Denied, Op: e.Op, Why: "a reader may look but not talk",
			Hint: "log in with the token of an operator"}
	case session == "":
		e.Why, e.Hint = "the conversation has no name", "choose a short name such as 仕事"
	case strings.TrimSpace(text) == "":
		e.Why, e.Hint = "nothing was said", "say something in text"
	default:
		return nil
	}
	return e
}

// turn is one turn in a room, whose Talk is opened for it if need be. It ends when
// somebody stops it, and with the manager.
func (p *Manager) turn(ctx context.Context, r *session, text string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(context.Cause(r.life)) })()
	if err := p.ensureOpen(ctx, r); err != nil {
		return err
	}
	err := r.talk.Say(ctx, text)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

const (
	mostSessions = 100 // that are shown
	lookedAt     = 500 // sessions, among which there are some where nothing was said
	usualNewest  = 100
)

// Sessions implements [hako/internal/web/api.Secretary].
func (p *Manager) Sessions(ctx context.Context) ([]Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all, err := p.Store.Sessions(lookedAt)
	var shown []Session
	for _, s := range all {
		busy := p.busy(s.ID)
		if (s.Messages > 0 || busy) && len(shown) < mostSessions {
			shown = append(shown, Session{ID: name(s), Title: title(s), Updated: s.Updated, Busy: busy})
		}
	}
	return shown, err
}

// busy tells whether a turn goes on in a session.
func (p *Manager) busy(session int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.open[session]
	return r != nil && r.turning
}

func name(s store.Session) string { return cmp.Or(s.Name, strconv.FormatInt(s.ID, 10)) }

// madeUp begins the names that a page gives to conversations: they say nothing to
// anybody.
const madeUp = "web-"

func title(s store.Session) string {
	first := strings.Join(strings.Fields(s.First), " ")
	if s.Name != "" && !strings.HasPrefix(s.Name, madeUp) {
		return s.Name
	}
	return cmp.Or(first, name(s))
}

// Messages implements [hako/internal/web/api.Secretary]. A number of zero means 100.
func (p *Manager) Messages(ctx context.Context, session string, newest int) ([]Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := p.Store.Session(session)
	if err != nil {
		return nil, err
	}
	all, err := p.Store.Messages(s.ID, cmp.Or(max(newest, 0), usualNewest))
	said := make([]Message, len(all))
	for i, m := range all {
		said[i] = Message{Role: m.Role, Text: m.Text, Time: m.Time, Results: outcomes(m)}
	}
	return said, err
}

// Speaks implements [hako/internal/web/api.Secretary].
func (p *Manager) Speaks(context.Context) (bool, error) { return p.speaks(), nil }

func (p *Manager) speaks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		return p.Aloud && p.Silent == nil
	}
	return p.loud
}

// Voice implements [hako/internal/web/api.Secretary]. It can always be turned off.
func (p *Manager) Voice(_ context.Context, on bool) (bool, error) {
	if on && p.Silent != nil {
		return false, p.Silent
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.loud = true, on
	return on, nil
}
