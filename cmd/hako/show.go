package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"hako/agent"
	"hako/internal/markdown"
	"hako/internal/progress"
	"hako/internal/term"
	"hako/run/fault"
)

// A transcript shows a working agent to people or, as JSON, to programs. Results go to standard output, everything else
// to standard error.
type transcript struct {
	s       streams
	json    bool
	verbose bool // calls and results are shown
	spinner *progress.Spinner
	notes   io.Writer      // standard error, beside the spinner
	text    io.WriteCloser // the text of this turn; nil before it begins

	err    error       // the first failure to write a result
	cancel func(error) // cancels the work then; nil means that it goes on
}

func newTranscript(s streams, asJSON, verbose bool) *transcript {
	w := &transcript{s: s, json: asJSON, verbose: verbose || isTerminal(s.err)}
	w.spinner = progress.New(s.err, isTerminal(s.err) && !asJSON)
	w.spinner.Color = useColor()
	w.spinner.Width = func() int { return max(term.Columns(s.err), 20) }
	w.notes = w.spinner.Writer()
	return w
}

// busy shows what hako waits for; empty means nothing.
func (w *transcript) busy(label string) {
	if label == "" {
		w.spinner.Stop()
		return
	}
	w.spinner.Start(label)
}

// newText begins the text of a turn: rendered on a terminal, unchanged elsewhere.
func (w *transcript) newText() io.WriteCloser {
	if !isTerminal(w.s.out) {
		return &plainText{Writer: w.s.out}
	}
	return markdown.NewWriter(w.spinner.Wrap(w.s.out), markdown.Options{Width: term.Columns(w.s.out), Color: useColor()})
}

// plainText is text for files and pipes. It ends with a newline.
type plainText struct {
	io.Writer
	last byte
}

func (t *plainText) Write(p []byte) (int, error) {
	if len(p) > 0 {
		t.last = p[len(p)-1]
	}
	return t.Writer.Write(p)
}

func (t *plainText) Close() error {
	if t.last == '\n' {
		return nil
	}
	_, err := io.WriteString(t.Writer, "\n")
	return err
}

// useColor reports whether colours are allowed.
func useColor() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// event shows one event of the agent loop.
func (w *transcript) event(e agent.Event) {
	if w.json {
		w.check(encode(w.s.out, e))
		return
	}
	switch e.Type {
	case "turn":
		w.endText()
		w.spinner.Start("thinking")
	case "text":
		w.piece(e.Text)
	case "call":
		w.endText()
		w.call(e)
	case "result":
		w.result(e)
	case "note", "compacted", "retry", "searched":
		w.note(e.Text)
	}
}

func (w *transcript) piece(text string) {
	if text == "" {
		return
	}
	if w.text == nil {
		w.spinner.Stop()
		w.text = w.newText()
	}
	_, err := io.WriteString(w.text, text)
	w.check(err)
}

// check cancels the work if its result cannot be written.
func (w *transcript) check(err error) {
	if err == nil || w.err != nil {
		return
	}
	w.err = err
	if w.cancel != nil {
		w.cancel(err)
	}
}

// endText ends the text of a turn.
func (w *transcript) endText() {
	if w.text != nil {
		w.check(w.text.Close())
		w.text = nil
	}
}

func (w *transcript) note(text string) { fmt.Fprintf(w.notes, "hako: %s\n", visible(text)) }

func (w *transcript) call(e agent.Event) {
	w.spinner.Label(e.Name)
	if w.verbose {
		w.note(term.Brief("→ "+e.Name+" "+callText(e), w.noteWidth()))
	}
}

// callText is the command of a call, if it has one.
func callText(e agent.Event) string {
	var in map[string]any
	if json.Unmarshal([]byte(e.Arguments), &in) != nil {
		return e.Arguments
	}
	for _, name := range []string{"command", "query", "url"} {
		if text, ok := in[name].(string); ok && text != "" {
			return text
		}
	}
	if len(in) == 0 {
		return ""
	}
	return e.Arguments
}

func (w *transcript) result(e agent.Event) {
	w.spinner.Label("thinking")
	if !w.verbose || e.OK == nil || *e.OK {
		return
	}
	text := e.Text
	var out struct {
		Error struct{ Reason string }
	}
	if json.NewDecoder(bytes.NewReader([]byte(e.Text))).Decode(&out) == nil && out.Error.Reason != "" {
		text = out.Error.Reason
	}
	w.note("✗ " + e.Name + ": " + term.Brief(text, 300))
}

// noteWidth is the length of a note that fits on one line of the terminal.
func (w *transcript) noteWidth() int {
	if n := term.Columns(w.s.err); n > 0 {
		return max(n-len("hako: ")-1, 40)
	}
	return 200
}

// close ends the text. With --json, a failure is an event too.
func (w *transcript) close(err error) {
	w.spinner.Stop()
	if w.json {
		if err != nil {
			_ = encode(w.s.out, agent.Event{Type: "error", Text: err.Error(), Kind: fault.KindOf(err).String(),
				Hint: fault.Hint(err)})
		}
		return
	}
	w.endText()
}
