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
	show *transcript
	json bool
}

func newSecretaryTerminal(s streams, conf *config.Config, asJSON bool) *secretaryTerminal {
	return &secretaryTerminal{conf: conf, s: s, json: asJSON, show: newTranscript(s, asJSON, false)}
}

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

// progress shows the events of a turn.
func (t *secretaryTerminal) progress(e secretary.Event) {
	if t.json {
		return // all of it is in the answer
	}
	switch e.Type {
	case secretary.Text:
		t.show.piece(text.ForTerminal(e.Text))
	case secretary.Again, secretary.ReplyDone:
		t.show.endText()
	case secretary.Started:
		t.show.endText()
		t.show.spinner.Label("running")
		if !e.Beside { // else it is shown with its result
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

// commandAnswer is what --json prints for a command of the conversation.
type commandAnswer struct {
	Command string       `json:"command"`
	Output  string       `json:"output"`
	Error   *fault.Error `json:"error,omitempty"`
}

// printed shows the output of a command of the conversation.
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

// done ends the output of a turn.
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
		t.show.note("$ " + term.Brief(command, t.show.noteWidth()))
	}
}

// shownLines is how many lines of output people see; the model sees more.
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

// withRule adds the rule to the line with its reason.
func withRule(r *secretary.Result, line string) string {
	if d := r.Denied; d != nil && d.Rule != "" && strings.HasSuffix(line, d.Why) {
		return line + " (" + d.Rule + ")"
	}
	return line
}

// lines prints the first lines of an output.
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

// execute carries out one line.
func (t *secretaryTerminal) execute(ctx context.Context, line string) error {
	if !secretary.IsCommand(line) {
		t.show.spinner.Start("thinking")
	}
	err := t.Say(ctx, line)
	if t.show.err != nil {
		return t.show.err
	}
	return err
}

func (t *secretaryTerminal) once(ctx context.Context, line string) error {
	if strings.HasPrefix(line, "@bg") {
		return &fault.Error{Kind: fault.Invalid, Op: "secretary", Subject: line,
			Why:  "a job ends with the conversation, and this one ends at once",
			Hint: "run it in a conversation: hako secretary"}
	}
	if secretary.IsCommand(line) {
		t.json = false
		return t.execute(ctx, line)
	}
	err := t.execute(ctx, line)
	if t.json && err != nil && t.show.err == nil {
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	}
	t.Speaker().Wait(ctx)
	return err
}

// pipe takes each line of standard input as a message.
func (t *secretaryTerminal) pipe(ctx context.Context) error {
	lines := bufferedLines(t.s.in)
	for {
		line, err := lines()
		if err == io.EOF || isExit(line) {
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

func isExit(line string) bool {
	line = strings.TrimSpace(line)
	return line == "exit" || line == "quit"
}

// say carries out one line. It returns only errors that end the conversation.
func (t *secretaryTerminal) say(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	err := t.execute(ctx, line)
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

func (t *secretaryTerminal) converse(ctx context.Context) error {
	fmt.Fprintf(t.s.err, "hako secretary: %s; /help says what else there is, exit or Ctrl-D leaves\n", t.ModelName)
	screen := term.NewEditor(t.s.in.(*os.File), t.s.keys, t.s.err)
	t.show.notes = t.show.spinner.Wrap(screen) // warnings appear above the line that is typed
	for {
		line, err := t.readLine(ctx, screen)
		switch {
		case err == io.EOF:
			fmt.Fprintln(t.s.err)
			return nil
		case err != nil:
			return err
		case isExit(line):
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

// exchange carries out one line, which Ctrl-C interrupts.
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

func (t *secretaryTerminal) readLine(ctx context.Context, screen *term.Editor) (string, error) {
	lines := make(chan inputLine, 1)
	go func() {
		line, err := screen.Line("> ")
		if screen.Interrupted() {
			line = ""
		}
		lines <- inputLine{strings.TrimSpace(line), err}
	}()
	line, err := t.waitForLine(ctx, lines, config.SecretaryProactive.Of(t.conf).V, screen)
	if ctx.Err() != nil {
		screen.Restore() // the line is still being read
	}
	return line, err
}

// waitForLine waits for a line. After a long silence the secretary speaks unasked; zero means never.
func (t *secretaryTerminal) waitForLine(ctx context.Context, lines <-chan inputLine, silence time.Duration,
	screen io.Writer) (string, error) {
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
			if got, ok := t.volunteerUntilLine(ctx, lines, screen); ok {
				return got.line, got.err
			}
		}
	}
}

// An inputLine is a line or the error of reading one.
type inputLine struct {
	line string
	err  error
}

// volunteerUntilLine lets the secretary speak until a line is typed.
func (t *secretaryTerminal) volunteerUntilLine(ctx context.Context, lines <-chan inputLine, screen io.Writer) (
	got inputLine, ok bool) {
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

// volunteer prints what the secretary says unasked, above the line that is typed.
func (t *secretaryTerminal) volunteer(ctx context.Context, screen io.Writer) {
	if said := t.Volunteer(ctx); said != "" {
		fmt.Fprintln(screen, text.ForTerminal(said))
	}
}

// bufferedLines returns a function that reads one line after the other.
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
