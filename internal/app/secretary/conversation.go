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

// An Asker puts a question to a person; nil means that nobody is there.
type Asker = func(context.Context, gate.Question) (gate.Answer, error)

// A Conversation is a secretary with everything she works with. It takes lines and
// reports events; it neither reads nor prints. It must be closed.
type Conversation struct {
	*Secretary
	ModelName string                   // for messages
	Deadline  func() (time.Time, bool) // when the budget's time is up; nil means never
	Book      func() error             // keeps what was used, after each turn; nil means that nobody does
	Strict    bool                     // an answer that cannot be read is an error
	Keeps     bool                     // /reset is refused: what was said stays in this conversation

	store      *store.Store
	session    *store.Session // nil means that nothing is kept
	speaker    *Speaker       // nil means silence
	jobs       *jobs.List     // nil means that nothing runs in the background
	report     func(Event)
	unattended atomic.Bool // she speaks up herself: nobody is asked, nothing is reported
	closers    []func()    // in reverse
}

// NewConversation makes a conversation whose events go to report. They may come at
// any time, by several at once.
func NewConversation(report func(Event)) *Conversation { return &Conversation{report: report} }

// Use has s be the secretary of the conversation.
func (c *Conversation) Use(s *Secretary) {
	c.Secretary = s
	s.Observe = func(e Event) {
		if !c.unattended.Load() {
			c.report(e)
		}
	}
}

// OnClose has a function called when the conversation is closed, the last first.
func (c *Conversation) OnClose(do func()) { c.closers = append(c.closers, do) }

// Close releases what the conversation holds.
func (c *Conversation) Close() {
	for i := len(c.closers) - 1; i >= 0; i-- {
		c.closers[i]()
	}
	c.closers = nil
}

// Warn reports what does not work but does not matter.
func (c *Conversation) Warn(err error) { c.report(warningOf(err)) }

// Note reports something to know.
func (c *Conversation) Note(s string) { c.report(Event{Type: Note, Text: s}) }

// Attended answers no for a person while she speaks up herself, and reports every
// other question before it is asked. One question is asked at a time.
func (c *Conversation) Attended(ask Asker) Asker {
	if ask == nil {
		return nil
	}
	var one sync.Mutex // the gates of several runners may ask at the same time
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

// IsCommand tells a line for hako itself from what is said to the model.
func IsCommand(line string) bool {
	return strings.HasPrefix(line, "@") || strings.HasPrefix(line, "/")
}

// Say carries out one line: something that is said to her, or a command. The last
// event, done or output, has what came of it.
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
	answer, err := c.turnOf(ctx, line)
	c.report(Event{Type: Done, Text: answer.Text, Answer: &answer, Err: err})
	return err
}

func (c *Conversation) turnOf(ctx context.Context, line string) (Answer, error) {
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
	if err != nil && c.Keeps && c.TimeLeft() <= 0 {
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

// shortestTurn is the time that a turn should have.
const shortestTurn = 5 * time.Minute

// TimeLeft is what remains of the budget's time; without a limit it is enough for a
// turn.
func (c *Conversation) TimeLeft() time.Duration {
	if end, ok := c.deadline(); ok {
		return time.Until(end)
	}
	return shortestTurn
}

// Over tells that the budget leaves no time for another turn.
func (c *Conversation) Over() bool { return c.TimeLeft() < shortestTurn }

// Busy tells whether a job runs.
func (c *Conversation) Busy() bool { return c.jobs != nil && c.jobs.Busy() }

// Volunteer has her say something on her own; empty means that she has nothing to
// say. Nobody is asked for permission meanwhile, and nothing is reported.
func (c *Conversation) Volunteer(ctx context.Context) string {
	c.unattended.Store(true)
	defer c.unattended.Store(false)
	answer, err := c.Chat(ctx, "", Options{Proactive: true, News: c.news(ctx)})
	if err != nil || answer.Silent {
		return ""
	}
	return answer.Text
}

// news is what has happened in the background.
func (c *Conversation) news(ctx context.Context) string {
	if c.Jobs == nil {
		return ""
	}
	news, _ := c.Jobs.Ask(ctx, "list", "", 0)
	return news
}

// SpeakWith gives her a voice.
func (c *Conversation) SpeakWith(s *Speaker) {
	c.speaker, c.Voice = s, s
}

// Speaker is her voice; nil means that she has none.
func (c *Conversation) Speaker() *Speaker { return c.speaker }
