package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"hako/agent"
	"hako/internal/app/secretary"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/term"
	"hako/internal/text"
	"hako/run/fault"
)

// A secretaryTerminal shows a conversation on a terminal, or as JSON.
type secretaryTerminal struct {
	*secretary.Conversation
	conf *config.Config
	s    streams
	show *show
	json bool
}

func newSecretaryTerminal(s streams, conf *config.Config, asJSON bool) *secretaryTerminal {
	return &secretaryTerminal{conf: conf, s: s, json: asJSON, show: newShow(s, asJSON, false)}
}

// event shows what happens.
func (t *secretaryTerminal) event(e secretary.Event) {
	switch e.Type {
	case secretary.Note:
		t.show.note(e.Text)
	case secretary.Retry:
		t.show.event(agent.Event{Type: "retry", Kind: fault.KindOf(e.Err).String(), Text: e.Text})
	case secretary.Asked:
		t.show.spinner.Stop()
	case secretary.Printed:
		t.printed(e)
	case secretary.Done:
		t.done(e)
	case secretary.Warning:
		t.warning(e)
	default:
		t.progress(e)
	}
}

// progress shows what happens in a turn.
func (t *secretaryTerminal) progress(e secretary.Event) {
	if t.json {
		return // the answer has it all
	}
	switch e.Type {
	case secretary.Text:
		t.show.piece(text.ForTerminal(e.Text))
	case secretary.Again, secretary.ReplyDone:
		t.show.endText()
	case secretary.Started:
		t.show.endText()
		t.show.spinner.Label("running")
		if !e.Beside { // else each stands above what came of it
			t.commandLine(e.Action.Command)
		}
	case secretary.Ended:
		if e.Beside {
			t.commandLine(e.Result.Command)
		}
		t.result(e.Result)
	case secretary.TodoDone:
		t.show.note(e.Text)
	}
}

// warning shows what does not work but does not matter.
func (t *secretaryTerminal) warning(e secretary.Event) {
	switch {
	case e.Err != nil:
		t.warn(e.Err)
	case !t.json:
		t.show.endText()
		t.show.note("warning: " + e.Text)
	}
}

func (t *secretaryTerminal) warn(err error) {
	t.show.note(text.ForTerminal(err.Error()))
	if h := fault.FlagHint(err); h != "" {
		t.show.note("hint: " + h)
	}
}

// commandAnswer is what --json prints for a line that is not for the model.
type commandAnswer struct {
	Command string       `json:"command"`
	Output  string       `json:"output"`
	Error   *fault.Error `json:"error,omitempty"`
}

// printed shows what came of a line that is not for the model.
func (t *secretaryTerminal) printed(e secretary.Event) {
	if !t.json {
		_, err := io.WriteString(t.s.out, e.Text)
		t.show.check(err)
		return
	}
	t.show.check(encode(t.s.out, commandAnswer{Command: e.Command, Output: e.Text, Error: errorJSON(e.Err)}))
}

// secretaryAnswer is what --json prints for each exchange.
type secretaryAnswer struct {
	Session string `json:"session,omitempty"`
	secretary.Answer
	Error *fault.Error `json:"error,omitempty"`
}

// done ends what is shown of a turn.
func (t *secretaryTerminal) done(e secretary.Event) {
	t.show.spinner.Stop()
	t.show.endText()
	if t.json {
		t.show.check(encode(t.s.out, secretaryAnswer{Session: t.Session(), Answer: *e.Answer, Error: errorJSON(e.Err)}))
	}
}

func errorJSON(err error) (e *fault.Error) {
	if err != nil && !errors.As(err, &e) {
		return &fault.Error{Op: "talk", Err: err}
	}
	return e
}

func (t *secretaryTerminal) commandLine(command string) {
	if config.BashLogCommands.Of(t.conf).V {
		t.show.note("$ " + term.Brief(command, t.show.room()))
	}
}

// shownLines is how much of a command's output people see; the model sees more.
const shownLines = 12

func (t *secretaryTerminal) result(r *secretary.Result) {
	t.show.spinner.Label("thinking")
	if !config.BashLogCommands.Of(t.conf).V {
		return
	}
	if o := r.Output; o != nil {
		t.lines(o.Stdout)
		t.lines(o.Stderr)
		if o.ExitCode != "0" && r.Error == "" {
			fmt.Fprintf(t.show.notes, "  (exit %s)\n", o.ExitCode)
		}
		if o.Redacted > 0 {
			t.show.note("note: " + redact.Note(o.Redacted))
		}
	}
	if r.Error != "" {
		t.show.note("✗ " + term.Brief(withRule(r, r.Error), 300))
	}
	if r.Detail != "" {
		t.show.note(term.Brief(withRule(r, r.Detail), 300))
	}
	if r.Hint != "" {
		t.show.note("hint: " + term.Brief(r.Hint, 300))
	}
}

// withRule adds the rule that decided to the line that has its reason.
func withRule(r *secretary.Result, line string) string {
	if d := r.Denied; d != nil && d.Rule != "" && strings.HasSuffix(line, d.Why) {
		return line + " (" + d.Rule + ")"
	}
	return line
}

// lines shows the beginning of an output.
func (t *secretaryTerminal) lines(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), shownLines)] {
		fmt.Fprintf(t.show.notes, "  %s\n", visible(line))
	}
	if more := len(lines) - shownLines; more > 0 {
		fmt.Fprintf(t.show.notes, "  … %d more lines\n", more)
	}
}

// carryOut carries out one line and shows what happens.
func (t *secretaryTerminal) carryOut(ctx context.Context, line string) error {
	if !secretary.IsCommand(line) {
		t.show.spinner.Start("thinking")
	}
	err := t.Say(ctx, line)
	if t.show.err != nil {
		return t.show.err
	}
	return err
}

// once has one exchange and ends.
func (t *secretaryTerminal) once(ctx context.Context, line string) error {
	if strings.HasPrefix(line, "@bg") {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Subject: line,
			Why:  "a job ends with the conversation, and this one ends at once",
			Hint: "run it in a conversation: hako secretary"}
	}
	if secretary.IsCommand(line) {
		t.json = false
		return t.carryOut(ctx, line)
	}
	err := t.carryOut(ctx, line)
	if t.json && err != nil && t.show.err == nil {
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	}
	t.Speaker().Wait(ctx)
	return err
}

// pipe takes each line of standard input for something that is said.
func (t *secretaryTerminal) pipe(ctx context.Context) error {
	lines := bufferedLines(t.s.in)
	for {
		line, err := lines()
		if err == io.EOF || leaves(line) {
			t.Speaker().Wait(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.say(ctx, line); err != nil {
			return err
		}
	}
}

// leaves tells a line that ends the conversation.
func leaves(line string) bool {
	line = strings.TrimSpace(line)
	return line == "exit" || line == "quit"
}

// say carries out one line. Only what ends the conversation is an error.
func (t *secretaryTerminal) say(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	err := t.carryOut(ctx, line)
	switch {
	case err == nil || t.show.err != nil:
		return err
	case t.json:
		return nil // it was printed
	case !secretary.IsCommand(line) && (fault.KindOf(err) == fault.Exhausted || ctx.Err() != nil):
		return err
	}
	t.warn(err)
	return nil
}

// converse is the conversation at a terminal.
func (t *secretaryTerminal) converse(ctx context.Context) error {
	fmt.Fprintf(t.s.err, "hako secretary: %s; /help says what else there is, exit or Ctrl-D leaves\n", t.ModelName)
	screen := term.NewEditor(t.s.in.(*os.File), t.s.keys, t.s.err)
	t.show.notes = t.show.spinner.Wrap(screen) // a warning may come while a line is typed
	for {
		line, err := t.listen(ctx, screen)
		switch {
		case err == io.EOF:
			fmt.Fprintln(t.s.err)
			return nil
		case err != nil:
			return err
		case leaves(line):
			heard, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			t.Speaker().Wait(heard)
			return nil
		}
		if err := t.exchange(ctx, line); err != nil {
			return err
		}
	}
}

// exchange carries out one line; Ctrl-C ends it.
func (t *secretaryTerminal) exchange(ctx context.Context, line string) error {
	turn, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := t.say(turn, line)
	if err != nil && turn.Err() != nil {
		fmt.Fprintln(t.s.err, "hako: interrupted")
		return nil
	}
	return err
}

// listen waits for a line.
func (t *secretaryTerminal) listen(ctx context.Context, screen *term.Editor) (string, error) {
	lines := make(chan typed, 1)
	go func() {
		line, err := screen.Line("> ")
		if screen.Interrupted() {
			line = ""
		}
		lines <- typed{strings.TrimSpace(line), err}
	}()
	line, err := t.await(ctx, lines, config.SecretaryProactive.Of(t.conf).V, screen)
	if ctx.Err() != nil {
		screen.Restore() // the line is still being read
	}
	return line, err
}

// await waits for a line. In a long silence she may speak up herself; zero means
// that she never does.
func (t *secretaryTerminal) await(ctx context.Context, lines <-chan typed, silence time.Duration, screen io.Writer) (
	string, error) {
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
			if got, ok := t.beside(ctx, lines, screen); ok {
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
func (t *secretaryTerminal) beside(ctx context.Context, lines <-chan typed, screen io.Writer) (got typed, ok bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.volunteer(ctx, screen)
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

// volunteer has her say something on her own, beside the line that is being typed.
func (t *secretaryTerminal) volunteer(ctx context.Context, screen io.Writer) {
	if said := t.Volunteer(ctx); said != "" {
		fmt.Fprintln(screen, text.ForTerminal(said))
	}
}

// bufferedLines returns what reads one line after the other.
func bufferedLines(r io.Reader) func() (string, error) {
	in := bufio.NewReader(r)
	return func() (string, error) {
		line, err := in.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	}
}
