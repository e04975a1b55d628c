package sessions

import (
	"encoding/json"
	"strconv"
	"strings"

	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
)

// A listener forwards the events of one turn to the client.
type listener struct {
	send     func(Turn)
	lastText string // the last answer
}

func (l *listener) onEvent(e secretary.Event) {
	switch e.Type {
	case secretary.Text, secretary.Again, secretary.TodoDone, secretary.Warning:
		l.send(Turn{Type: e.Type, Text: e.Text})
	case secretary.Note, secretary.Retry:
		l.send(Turn{Type: secretary.Warning, Text: e.Text})
	case secretary.Printed:
		if e.Err == nil {
			l.send(Turn{Type: secretary.Text, Text: e.Text})
			l.lastText = e.Text
		}
	case secretary.ReplyDone: // its text was streamed
		l.lastText = e.Text
	case secretary.Started:
		l.action(e.Action)
	case secretary.Ended:
		l.result(e.Result)
	}
}

func (l *listener) action(a *secretary.Action) {
	text, err := json.Marshal(a)
	if err != nil || a == nil {
		return
	}
	l.send(Turn{Type: secretary.Started, Action: text})
}

func (l *listener) result(r *secretary.Result) {
	if r == nil {
		return
	}
	o := outcomeOf(r)
	l.send(Turn{Type: secretary.Ended, Result: &o})
}

// refused is the prefix of the error of a denied command.
const refused = "SecurityError: "

// failed is the exit status of a command that did not run for another reason.
const failed = 1

// outcomeOf converts a result for people: a denial with its reason, any other error as standard error.
func outcomeOf(r *secretary.Result) Outcome {
	o := Outcome{Command: r.Command, Reason: r.Reason, Seconds: r.Took.Seconds()}
	if r.Output != nil {
		o.Stdout, o.Stderr, o.Dir = r.Output.Stdout, r.Output.Stderr, r.Output.Dir
		o.Redacted = r.Output.Redacted
		o.Exit, _ = strconv.Atoi(r.Output.ExitCode)
	}
	why, denied := strings.CutPrefix(fullError(r), refused)
	switch {
	case denied:
		o.Denied = why
	case why != "":
		if o.Exit == 0 {
			o.Exit = failed
		}
		o.Stderr = strings.TrimLeft(strings.TrimSuffix(o.Stderr, "\n")+"\n"+why+"\n", "\n")
	}
	return o
}

// fullError returns an error with its detail and hint.
func fullError(r *secretary.Result) string {
	text := r.Error
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if r.Hint != "" {
		text += " (" + r.Hint + ")"
	}
	return text
}

// outcomes parses the results stored with a message; nil means none.
func outcomes(m store.Message) []Outcome {
	var kept []struct {
		Command, Reason string
		Result          *secretary.Output
		Error           *string
		Hint            string
	}
	if m.Role != store.System || json.Unmarshal(m.Meta, &kept) != nil {
		return nil
	}
	var all []Outcome
	for _, k := range kept {
		r := secretary.Result{Command: k.Command, Reason: k.Reason, Output: k.Result, Hint: k.Hint}
		if k.Error != nil {
			r.Error = *k.Error
		}
		all = append(all, outcomeOf(&r))
	}
	return all
}
