// Package sessions keeps conversations with the secretary open between turns for users of the HTTP API, and
// lists stored conversations and to-dos.
//
// [Manager.Open] assembles a conversation. A conversation has one turn at a time, and whatever is opened is
// closed.
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

// A Conversation is an open conversation with the secretary.
type Conversation interface {
	// Say runs one turn. Events go to the observer it was opened with.
	Say(ctx context.Context, text string) error
	Close()
	Busy() bool // a job runs: do not close it when idle
	Over() bool // its budget leaves no time for a turn: open another one
}

// OpenOptions are the arguments of [Manager.Open].
type OpenOptions struct {
	Session string                // ID in the store
	Name    string                // as in [Manager.Sessions] and in questions
	Observe func(secretary.Event) // may be called at any time and concurrently
	Speaks  func() bool           // whether the voice is on
}

// A Manager is a [hako/internal/web/api.Secretary]. Open and Store are required. It is safe for concurrent use
// and must be closed.
type Manager struct {
	// Open opens a conversation. The context ends with the conversation.
	Open  func(ctx context.Context, o OpenOptions) (Conversation, error)
	Store *store.Store

	// NoVoice is why speech is unavailable, with a hint; nil means that it is available.
	NoVoice error
	VoiceOn bool // the voice is on at first

	MaxOpen int           // open conversations; zero means 16
	Idle    time.Duration // after which one is closed; zero means 15 minutes

	mu          sync.Mutex // guards the fields below
	open        map[int64]*session
	used        int64 // turns so far
	voiceChosen bool  // somebody switched the voice on or off
	voiceOn     bool  // the choice
	closed      bool
	life        context.Context
	end         context.CancelCauseFunc
	work        sync.WaitGroup // turns, and conversations being closed
}

const (
	defaultMaxOpen = 16
	defaultIdle    = 15 * time.Minute
)

// Chat implements [hako/internal/web/api.Secretary].
func (p *Manager) Chat(ctx context.Context, who access.Actor, session, text string, tell func(Turn)) error {
	if err := checkChat(ctx, who, session, text); err != nil {
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
	heard, done := &listener{send: tell}, make(chan error, 1)
	r.setListener(heard)
	go func() { done <- p.runTurn(context.WithoutCancel(ctx), r, text) }()
	select {
	case err = <-done:
	case <-ctx.Done(): // the client is gone; the turn continues
		r.removeListener(heard)
		return context.Cause(ctx)
	}
	if err == nil {
		tell(Turn{Type: secretary.Done, Text: heard.lastText})
	}
	return err
}

// runTurn runs a turn and leaves the session. A session whose budget is used up is closed; the next turn opens
// another one.
func (p *Manager) runTurn(ctx context.Context, r *session, text string) (err error) {
	spent := true
	defer func() {
		if broken := recover(); broken != nil {
			err = &fault.Error{Op: "talk to secretary", Why: "the secretary failed unexpectedly", Hint: "send the message again",
				Err: fmt.Errorf("%v\n%s", broken, debug.Stack())}
		}
		p.leave(r, spent)
	}()
	err = p.say(ctx, r, text)
	spent = fault.KindOf(err) == fault.Exhausted
	return err
}

// Stop implements [hako/internal/web/api.Secretary].
func (p *Manager) Stop(ctx context.Context, who access.Actor, session string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case who.Role != access.Operator:
		return &fault.Error{Kind: fault.Denied, Op: "stop secretary", Why: "a reader may look but not stop a turn",
			Hint: "log in with the token of an operator"}
	}
	s, err := p.Store.Session(session)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[s.ID]; r != nil && r.busyTurn {
		r.stop(&fault.Error{Kind: fault.Denied, Op: "answer", Why: "a person has stopped the answer",
			Hint: "say what you need instead", Err: context.Canceled})
	}
	return nil
}

// checkChat validates the arguments of Chat.
func checkChat(ctx context.Context, who access.Actor, session, text string) error {
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

// say runs one turn, and opens the conversation first if necessary. It ends when it is stopped or the manager
// is closed.
func (p *Manager) say(ctx context.Context, r *session, text string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.turnContext, func() { cancel(context.Cause(r.turnContext)) })()
	if err := p.ensureOpen(ctx, r); err != nil {
		return err
	}
	err := r.conversation.Say(ctx, text)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

const (
	maxSessions   = 100 // shown
	maxLoaded     = 500 // loaded, including empty ones
	defaultNewest = 100
)

// Sessions implements [hako/internal/web/api.Secretary].
func (p *Manager) Sessions(ctx context.Context) ([]Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all, err := p.Store.Sessions(maxLoaded)
	var shown []Session
	for _, s := range all {
		busy := p.busy(s.ID)
		if (s.Messages > 0 || busy) && len(shown) < maxSessions {
			shown = append(shown, Session{ID: name(s), Title: title(s), Updated: s.Updated, Busy: busy})
		}
	}
	return shown, err
}

// busy reports whether a turn is running in a session.
func (p *Manager) busy(session int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.open[session]
	return r != nil && r.busyTurn
}

func name(s store.Session) string { return cmp.Or(s.Name, strconv.FormatInt(s.ID, 10)) }

// generatedPrefix is the prefix of the names generated by the web page.
const generatedPrefix = "web-"

func title(s store.Session) string {
	first := strings.Join(strings.Fields(s.First), " ")
	if s.Name != "" && !strings.HasPrefix(s.Name, generatedPrefix) {
		return s.Name
	}
	return cmp.Or(first, name(s))
}

// Messages implements [hako/internal/web/api.Secretary]. A newest of zero means 100.
func (p *Manager) Messages(ctx context.Context, session string, newest int) ([]Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := p.Store.Session(session)
	if err != nil {
		return nil, err
	}
	all, err := p.Store.Messages(s.ID, cmp.Or(max(newest, 0), defaultNewest))
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
	if !p.voiceChosen {
		return p.VoiceOn && p.NoVoice == nil
	}
	return p.voiceOn
}

// Voice implements [hako/internal/web/api.Secretary]. Switching it off always works.
func (p *Manager) Voice(_ context.Context, on bool) (bool, error) {
	if on && p.NoVoice != nil {
		return false, p.NoVoice
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.voiceChosen, p.voiceOn = true, on
	return on, nil
}
