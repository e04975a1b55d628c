package secretary

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hako/gate"
	"hako/internal/app/jobs"
	"hako/internal/app/secretary/store"
	"hako/run/fault"
)

// An Asker puts a question to a person; nil means that nobody can be asked.
type Asker = func(context.Context, gate.Question) (gate.Answer, error)

// A Conversation is a secretary with everything it works with. It takes lines and reports events. It must be closed.
type Conversation struct {
	*Secretary
	ModelName string                   // for messages
	Deadline  func() (time.Time, bool) // of the budget; nil means none
	Book      func() error             // stores the usage after each turn; nil means that it is not stored
	Strict    bool                     // an unreadable answer is an error
	NoReset   bool                     // refuse /reset

	store      *store.Store
	session    *store.Session // nil means that nothing is stored
	speaker    *Speaker       // nil means silence
	jobs       *jobs.List     // nil means no background jobs
	report     func(Event)
	unattended atomic.Bool // in a proactive turn: nobody is asked, nothing is reported
	closers    []func()    // called in reverse
}

// NewConversation returns a conversation whose events go to report, which may be called concurrently.
func NewConversation(report func(Event)) *Conversation { return &Conversation{report: report} }

// Use sets the secretary of the conversation.
func (c *Conversation) Use(s *Secretary) {
	c.Secretary = s
	s.Observe = func(e Event) {
		if !c.unattended.Load() {
			c.report(e)
		}
	}
}

// OnClose registers a function for Close, which calls them in reverse order.
func (c *Conversation) OnClose(do func()) { c.closers = append(c.closers, do) }

// Close closes the conversation.
func (c *Conversation) Close() {
	for i := len(c.closers) - 1; i >= 0; i-- {
		c.closers[i]()
	}
	c.closers = nil
}

// Warn reports a failure that does not end the conversation.
func (c *Conversation) Warn(err error) { c.report(warningEvent(err)) }

// Note reports information.
func (c *Conversation) Note(s string) { c.report(Event{Type: Note, Text: s}) }

// Attended wraps ask: it answers no during proactive turns, reports every other question first, and asks one
// question at a time.
func (c *Conversation) Attended(ask Asker) Asker {
	if ask == nil {
		return nil
	}
	var one sync.Mutex // the gates of several runners may ask concurrently
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		one.Lock()
		defer one.Unlock()
		if c.unattended.Load() {
			return gate.No, nil
		}
		c.report(Event{Type: Asked, Question: &q})
		return ask(ctx, q)
	}
}

// IsCommand reports whether a line is a command rather than a message to the model.
func IsCommand(line string) bool {
	return strings.HasPrefix(line, "@") || strings.HasPrefix(line, "/")
}

// Say runs one line: a message to the model, or a command. The last event, done or output, has the outcome.
func (c *Conversation) Say(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case IsCommand(line):
		out, err := c.command(ctx, line)
		c.report(Event{Type: Printed, Command: line, Text: out, Err: err})
		return err
	}
	answer, err := c.runTurn(ctx, line)
	c.report(Event{Type: Done, Text: answer.Text, Answer: &answer, Err: err})
	return err
}

func (c *Conversation) runTurn(ctx context.Context, line string) (Answer, error) {
	if end, ok := c.deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	answer, err := c.Chat(ctx, line, Options{})
	if err == nil && answer.Garbled && c.Strict {
		answer.Partial = true
		err = &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: c.ModelName, Why: "its answer cannot be read",
			Hint:     "say it in other words, or name another model in secretary.model",
			FlagHint: "say it in other words, or name another model: --model"}
	}
	c.book()
	if err != nil && c.NoReset && c.TimeLeft() <= 0 {
		err = &fault.Error{Kind: fault.Exhausted, Op: "talk to secretary", Why: "the time of the budget is used up",
			Hint: "say it again: a new budget begins", Err: err}
	}
	return answer, err
}

func (c *Conversation) book() {
	if c.Book == nil {
		return
	}
	if err := c.Book(); err != nil {
		c.Warn(err)
	}
}

func (c *Conversation) deadline() (time.Time, bool) {
	if c.Deadline == nil {
		return time.Time{}, false
	}
	return c.Deadline()
}

// minTurnTime is the time that a turn may need.
const minTurnTime = 5 * time.Minute

// TimeLeft returns the remaining time of the budget; without a limit, enough for a turn.
func (c *Conversation) TimeLeft() time.Duration {
	if end, ok := c.deadline(); ok {
		return time.Until(end)
	}
	return minTurnTime
}

// Over reports whether the budget leaves no time for another turn.
func (c *Conversation) Over() bool { return c.TimeLeft() < minTurnTime }

// Busy reports whether a job is running.
func (c *Conversation) Busy() bool { return c.jobs != nil && c.jobs.Busy() }

// Volunteer runs a proactive turn and returns its text, which may be empty. Nobody is asked for approval
// meanwhile, and nothing is reported.
func (c *Conversation) Volunteer(ctx context.Context) string {
	c.unattended.Store(true)
	defer c.unattended.Store(false)
	answer, err := c.Chat(ctx, "", Options{Proactive: true, News: c.news(ctx)})
	if err != nil || answer.Silent {
		return ""
	}
	return answer.Text
}

// news lists the background jobs.
func (c *Conversation) news(ctx context.Context) string {
	if c.Jobs == nil {
		return ""
	}
	news, _ := c.Jobs.Ask(ctx, "list", "", 0)
	return news
}

// SpeakWith sets the voice.
func (c *Conversation) SpeakWith(s *Speaker) {
	c.speaker, c.Voice = s, s
}

// Speaker returns the voice, or nil.
func (c *Conversation) Speaker() *Speaker { return c.speaker }
