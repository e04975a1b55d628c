package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// A Recorder is a model that writes each turn and each refusal of another as a line of a script. Other errors, such as
// an interruption, are not written. It goes behind [llm.Retry], so that failed tries are replayed too. It is safe for
// concurrent use if its model is.
type Recorder struct {
	Model llm.Model
	W     io.Writer // receives whole lines; its error fails the turn

	mu sync.Mutex // one line at a time
}

// Next implements [llm.Model].
func (r *Recorder) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	wrapped := *d
	var said strings.Builder
	if say := d.OnText; say != nil {
		wrapped.OnText = func(piece string) {
			said.WriteString(piece)
			say(piece)
		}
	}
	turn, err := r.Model.Next(ctx, &wrapped)
	l, ok := written(turn, err, said.String())
	if !ok {
		return nil, err
	}
	if failed := r.write(l); failed != nil {
		return nil, failed
	}
	return turn, err
}

// write writes one line. A turn that could not be recorded is not returned: an incomplete record would replay another
// conversation.
func (r *Recorder) write(l *scriptLine) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(l)
	if err == nil {
		r.mu.Lock()
		_, err = r.W.Write(text.Bytes())
		r.mu.Unlock()
	}
	if err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "record turn", Why: "the line could not be written", Err: err,
			Hint: "record into another file, or without --record"}
	}
	return nil
}

// written converts the result of a model. said is what was streamed before a refusal.
func written(turn *llm.Turn, err error, said string) (l *scriptLine, ok bool) {
	var r *llm.Refusal
	switch {
	case err == nil:
		return writtenTurn(turn), true
	case !errors.As(err, &r):
		return nil, false
	}
	l = &scriptLine{Text: said, Error: &refusal{
		Status: r.Status, Code: r.Code, Message: r.Message, Retry: r.Retry,
		After: int64((r.After + time.Millisecond - 1) / time.Millisecond),
	}}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		l.Model, l.Error.Why, l.Error.Hint = f.Subject, f.Why, f.Hint
	}
	return l, true
}

func writtenTurn(turn *llm.Turn) *scriptLine {
	l := &scriptLine{
		Text: turn.Text, Usage: usageOf(turn.Usage), Model: turn.Model, Cut: turn.Cut,
		Raw: turn.Raw, Source: turn.Source,
	}
	for _, c := range turn.Calls {
		l.Calls = append(l.Calls, call{c.ID, c.Name, writtenArguments(c.Arguments)})
	}
	return l
}

func usageOf(u quota.Usage) usage { return usage{u.Input, u.Cached, u.Output} }

// writtenArguments encodes an object as an object, which people can read, unless that would change a byte of it.
func writtenArguments(text string) json.RawMessage {
	if strings.HasPrefix(text, "{") {
		var same bytes.Buffer
		if err := json.Compact(&same, []byte(text)); err == nil && same.String() == text {
			return json.RawMessage(text)
		}
	}
	quoted, _ := json.Marshal(text) // never fails for a string
	return quoted
}
