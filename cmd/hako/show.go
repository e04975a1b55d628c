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

// A show is what people, or programs, see of a working agent. Results go to
// standard output, everything else to standard error.
type show struct {
	s       streams
	json    bool
	verbose bool // calls and results are shown
	spinner *progress.Spinner
	notes   io.Writer      // standard error, beside the spinner
	text    io.WriteCloser // the text of this turn; nil before it begins

	err    error       // the first failure to write a result
	cancel func(error) // ends the work for it; nil means that it goes on
}

func newShow(s streams, asJSON, verbose bool) *show {
	w := &show{s: s, json: asJSON, verbose: verbose || isTerminal(s.err)}
	w.spinner = progress.New(s.err, isTerminal(s.err) && !asJSON)
	w.spinner.Color = colorful()
	w.spinner.Width = func() int { return max(term.Columns(s.err), 20) }
	w.notes = w.spinner.Writer()
	return w
}

// busy shows what is being waited for; empty means nothing any more.
func (w *show) busy(label string) {
	if label == "" {
		w.spinner.Stop()
		return
	}
	w.spinner.Start(label)
}

// newText begins the text of a turn: rendered on a terminal, as it is elsewhere.
func (w *show) newText() io.WriteCloser {
	if !isTerminal(w.s.out) {
		return &plainText{Writer: w.s.out}
	}
	return markdown.NewWriter(w.spinner.Wrap(w.s.out), markdown.Options{Width: term.Columns(w.s.out), Color: colorful()})
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

// colorful reports whether the user has nothing against colours.
func colorful() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// event shows one event of the loop.
func (w *show) event(e agent.Event) {
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

func (w *show) piece(text string) {
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

// check ends the work when nobody can read what comes of it.
func (w *show) check(err error) {
	if err == nil || w.err != nil {
		return
	}
	w.err = err
	if w.cancel != nil {
		w.cancel(err)
	}
}

// endText ends what the model said in a turn.
func (w *show) endText() {
	if w.text != nil {
		w.check(w.text.Close())
		w.text = nil
	}
}

func (w *show) note(text string) { fmt.Fprintf(w.notes, "hako: %s\n", visible(text)) }

func (w *show) call(e agent.Event) {
	w.spinner.Label(e.Name)
	if w.verbose {
		w.note(term.Brief("→ "+e.Name+" "+callText(e), w.room()))
	}
}

// callText is what matters of a call: the command, if that is what it has.
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

func (w *show) result(e agent.Event) {
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

// room is how long a note may be: one line of the terminal.
func (w *show) room() int {
	if n := term.Columns(w.s.err); n > 0 {
		return max(n-len("hako: ")-1, 40)
	}
	return 200
}

// close ends the text. A failure is an event too, for programs.
func (w *show) close(err error) {
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
