package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"hako/internal/app"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/sessions"
	"hako/internal/app/secretary/speech/player"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/text"
	"hako/run/fault"
)

// parlour is where people talk to the secretary who are not at this terminal. It
// is silent at first unless the settings want her to speak. ask returns who is
// asked about what is to be done in a conversation.
func (o *secretaryOptions) parlour(conf *config.Config, st *store.Store, ask func(session string) app.Asker) *sessions.Manager {
	return &sessions.Manager{
		Store: st, Silent: voiceless(conf), Aloud: config.SpeechEnabled.Of(conf).From != "default",
		Open: func(ctx context.Context, a sessions.OpenOptions) (sessions.Conversation, error) {
			return o.talk(ctx, conf, st, ask(a.Name), a)
		},
	}
}

// talk puts a secretary together for somebody who is not at this terminal.
func (o *secretaryOptions) talk(ctx context.Context, conf *config.Config, st *store.Store, ask app.Asker, a sessions.OpenOptions) (sessions.Conversation, error) {
	own := *o // each has its own tape
	own.session, own.once, own.json = a.Session, "", false
	nobody := newStreams(strings.NewReader(""), io.Discard, io.Discard)
	f, err := own.open(ctx, nobody, conf, company{ask: ask, store: st, watch: a.Observe, speaks: a.Speaks})
	if err != nil {
		return nil, err
	}
	return &visitor{f}, nil
}

// voiceless says why she cannot speak here; nil means that she can.
func voiceless(conf *config.Config) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "speak"}
	if !config.SpeechEnabled.Of(conf).V {
		e.Why, e.Hint = "the settings say that she is silent", "set speech.enabled to true"
		return e
	}
	if config.SpeechFile.Of(conf).V != "" {
		return nil
	}
	if _, ok := player.Find(player.Options{Name: config.SpeechPlayer.Of(conf).V}); !ok {
		e.Why, e.Hint = "there is no program here that plays sound", "install pw-play, paplay or aplay, or name a file with speech.file"
		return e
	}
	return nil
}

// A visitor talks to the secretary from elsewhere than this terminal.
type visitor struct{ front *front }

// Say implements [parlour.Talk].
func (v *visitor) Say(ctx context.Context, text string) error {
	text = strings.TrimSpace(text)
	if isCommand(text) {
		return v.command(ctx, text)
	}
	_, err := v.front.turn(ctx, text, secretary.Options{})
	if berr := v.front.mind.Book(v.front.conf, v.front.Meter.Used()); berr != nil { // a conversation may last for days
		v.front.warn(berr)
	}
	if err != nil && v.left() <= 0 {
		return &fault.Error{Kind: fault.Exhausted, Op: "talk to secretary", Why: "the time of the budget is used up", Hint: "say it again: a new budget begins", Err: err}
	}
	return err
}

const visitorHelp = `/todo [add|update|complete|delete …]   the to-do list; alone: show it
/history [WORDS]                       this conversation; with WORDS: search all of them
@todo, @search, @bg, @job              commands that she has too; your own: secretary.commands
`

// command carries out a line that is not meant for the model.
func (v *visitor) command(ctx context.Context, line string) error {
	var said strings.Builder
	switch word, _, _ := strings.Cut(line, " "); word {
	case "/help":
		said.WriteString(visitorHelp)
	case "/reset":
		return &fault.Error{Kind: fault.Invalid, Op: "talk", Subject: word, Why: "a conversation here keeps what was said in it", Hint: "begin another conversation"}
	default:
		if err := v.front.command(ctx, &said, line); err != nil {
			return err
		}
	}
	v.front.event(secretary.Event{Type: "text", Text: said.String()})
	v.front.event(secretary.Event{Type: "reply", Text: said.String()})
	return nil
}

// Close implements [parlour.Talk].
func (v *visitor) Close() { v.front.close() }

// Busy tells that a job runs.
func (v *visitor) Busy() bool {
	b, ok := v.front.Jobs.(interface{ Busy() bool })
	return ok && b.Busy()
}

// shortestTurn is the time that a turn should have.
const shortestTurn = 5 * time.Minute

// Over tells that the budget leaves no time for another turn.
func (v *visitor) Over() bool { return v.left() < shortestTurn }

// left is what remains of the budget's time.
func (v *visitor) left() time.Duration {
	if end, ok := v.front.Meter.Deadline(); ok {
		return time.Until(end)
	}
	return shortestTurn
}

// warnings makes events of the notes that a terminal would show.
func warnings(tell func(secretary.Event)) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		for line := range strings.Lines(string(p)) {
			if text := strings.TrimSpace(strings.TrimPrefix(line, "hako: ")); text != "" {
				tell(secretary.Event{Type: "warning", Text: text})
			}
		}
		return len(p), nil
	})
}

// hinted is an error with what to do about it, in one line.
func hinted(err error) string {
	text := text.ForTerminal(err.Error())
	if h := fault.Hint(err); h != "" {
		text = fmt.Sprintf("%s (%s)", text, h)
	}
	return text
}
