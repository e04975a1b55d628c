package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"hako/internal/app/secretary"
	"hako/internal/config"
	"hako/internal/text"
	"hako/run/fault"
)

// converse is the conversation at a terminal.
func (f *front) converse(ctx context.Context) error {
	fmt.Fprintf(f.s.err, "hako secretary: %s; /help says what else there is, exit or Ctrl-D leaves\n", f.mind.Model)
	t := newTerminal(f.s.in.(*os.File), f.s.keys, f.s.err)
	f.show.notes = f.show.spinner.Wrap(t.edit) // a warning may come while a line is typed
	for {
		line, err := f.listen(ctx, t)
		switch {
		case err == io.EOF:
			fmt.Fprintln(f.s.err)
			return nil
		case err != nil:
			return err
		case leaves(line):
			heard, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			f.voice.wait(heard)
			return nil
		}
		if err := f.exchange(ctx, line); err != nil {
			return err
		}
	}
}

// exchange carries out one line; Ctrl-C ends it.
func (f *front) exchange(ctx context.Context, line string) error {
	turn, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := f.say(turn, line)
	if err != nil && turn.Err() != nil {
		fmt.Fprintln(f.s.err, "hako: interrupted")
		return nil
	}
	return err
}

// listen waits for a line.
func (f *front) listen(ctx context.Context, t *terminal) (string, error) {
	lines := make(chan typed, 1)
	go func() {
		line, err := t.line("> ")
		if t.keys.interrupted() {
			line = ""
		}
		lines <- typed{strings.TrimSpace(line), err}
	}()
	line, err := f.await(ctx, lines, config.SecretaryProactive.Of(f.conf).V, t.edit)
	if ctx.Err() != nil {
		t.restore() // the line is still being read
	}
	return line, err
}

// await waits for a line. In a long silence she may speak up herself; zero means
// that she never does.
func (f *front) await(ctx context.Context, lines <-chan typed, silence time.Duration, screen io.Writer) (string, error) {
	var over <-chan time.Time
	if silence > 0 {
		timer := time.NewTicker(silence)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case got := <-lines:
			return got.line, got.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-over:
			if got, ok := f.beside(ctx, lines, screen); ok {
				return got.line, got.err
			}
		}
	}
}

// typed is a line, or why there is none.
type typed struct {
	line string
	err  error
}

// beside has her speak up until somebody else says something.
func (f *front) beside(ctx context.Context, lines <-chan typed, screen io.Writer) (got typed, ok bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.volunteer(ctx, screen)
	}()
	select {
	case got = <-lines:
		stop()
		<-done
		return got, true
	case <-done:
		return got, false
	}
}

// volunteer has her say something on her own, beside the line that is being
// typed. Nobody is asked for permission meanwhile.
func (f *front) volunteer(ctx context.Context, screen io.Writer) {
	f.shy.Store(true)
	defer f.shy.Store(false)
	answer, err := f.Chat(ctx, "", secretary.Options{Proactive: true, News: f.news(ctx)})
	if err == nil && !answer.Silent && answer.Text != "" {
		fmt.Fprintln(screen, text.ForTerminal(answer.Text))
	}
}

// news is what has happened in the background.
func (f *front) news(ctx context.Context) string {
	if f.Jobs == nil {
		return ""
	}
	text, _ := f.Jobs.Ask(ctx, "list", "", 0)
	return text
}

const talkHelp = `/todo [add|update|complete|delete …]   the to-do list; alone: show it
/history [WORDS]                       this conversation; with WORDS: search all of them
/reset                                 begin a new conversation
@todo, @search, @bg, @job              commands that she has too; your own: secretary.commands
exit                                   leave
`

// command carries out a line that is not meant for the model.
func (f *front) command(ctx context.Context, w io.Writer, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "/help":
		_, err := io.WriteString(w, talkHelp)
		return err
	case "/todo":
		if rest == "" {
			rest = "list"
		}
		return f.plugin(ctx, w, "@todo "+rest)
	case "/history":
		return f.past(w, rest)
	case "/reset":
		return f.reset(w)
	}
	if word[0] == '@' {
		return f.plugin(ctx, w, line)
	}
	e := &fault.Error{Kind: fault.Invalid, Op: "talk", Subject: word, Why: "there is no such command", Hint: "/help lists them"}
	if near, ok := fault.Nearest(word, []string{"/help", "/todo", "/history", "/reset"}); ok {
		e.Hint = "did you mean " + near + "?"
	}
	return e
}

// plugin runs an @command for a person.
func (f *front) plugin(ctx context.Context, w io.Writer, line string) error {
	r, err := f.Command(ctx, line)
	if err != nil {
		return err
	}
	if r.Denied != nil {
		return &fault.Error{Kind: fault.Denied, Op: line, Why: strings.TrimSuffix(r.Error+": "+r.Detail, ": "), Rule: r.Denied.Rule, Hint: r.Hint}
	}
	if why, ok := strings.CutPrefix(r.Error, "ExecutionError: "); ok {
		return &fault.Error{Op: why, Hint: r.Hint} // it names the command itself
	} else if r.Error != "" {
		return &fault.Error{Op: line, Why: r.Error, Hint: r.Hint}
	}
	if r.Output == nil {
		return nil
	}
	s := r.Output.Stdout + r.Output.Stderr
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err = io.WriteString(w, text.ForTerminal(s))
	return err
}

func noMemory(op string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: op, Why: "conversations are not kept in this run", Hint: "the first lines of this run say why"}
}

// past shows this conversation, or searches all.
func (f *front) past(w io.Writer, words string) error {
	if f.memory == nil {
		return noMemory("show history")
	}
	if words != "" {
		hits, err := f.memory.store.Search(words, 20)
		if err != nil {
			return err
		}
		if len(hits) == 0 {
			fmt.Fprintln(w, "nobody said so")
		}
		return printSaid(w, hits)
	}
	messages, err := f.memory.store.Messages(f.memory.session.ID, remembered)
	if err != nil {
		return err
	}
	for _, m := range messages {
		fmt.Fprintf(w, "%s: %s\n", m.Role, text.ForTerminal(m.Text))
	}
	return nil
}

// reset begins a new conversation; the old one is kept.
func (f *front) reset(w io.Writer) error {
	f.Forget()
	if f.memory != nil {
		next, err := f.memory.store.NewSession("")
		if err != nil {
			return err
		}
		f.memory.session = next
	}
	fmt.Fprintln(w, "a new conversation")
	return nil
}
