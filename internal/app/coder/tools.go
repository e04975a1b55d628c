package coder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"hako/agent"
	"hako/agent/tool"
	"hako/internal/text"
	"hako/run/fault"
)

// tools returns the tools of the model: two that work in the workspace, and those that
// reach beyond it, which are carried out at most once.
func (e *taskRun) tools(ctx context.Context) ([]tool.Tool, error) {
	list := []tool.Tool{
		{Tool: e.Execute, Call: e.executeCall, Stateful: true},
		{Tool: e.Edit, Call: e.editCall, Stateful: true},
	}
	if e.Tools != nil {
		more, err := e.Tools(ctx, e.task)
		if err != nil {
			return nil, err
		}
		for _, t := range more {
			list = append(list, e.onceTool(t))
		}
	}
	e.toolNames, e.rec.Tools = make(map[string]bool), nil
	for i := range list {
		if e.toolNames[list[i].Name] {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "offer tools", Subject: list[i].Name,
				Why: "there are two of this name", Hint: "give one of the MCP servers another name"}
		}
		e.toolNames[list[i].Name] = true
		e.rec.Tools = append(e.rec.Tools, list[i].Name)
		list[i].Call = e.countingCall(list[i].Name, list[i].Call)
	}
	return list, nil
}

// How much of the head and the tail of an output a model reads, in bytes.
const headShown, tailShown = 8 << 10, 24 << 10

func clipped(s string) string {
	b := text.HeadTail{Head: headShown, Tail: tailShown}
	_, _ = b.Write([]byte(s)) // never fails
	return b.String()
}

func (e *taskRun) executeCall(ctx context.Context, arguments string) (string, error) {
	var in struct {
		Command string  `json:"command"`
		Dir     *string `json:"working_directory"` // models send null for nothing
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil || in.Command == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: "call " + e.Execute.Name,
			Why: "the arguments are no object with a command", Hint: "the arguments are command, working_directory?"}
	}
	dir := ""
	if in.Dir != nil {
		dir = *in.Dir
	}
	out, err := e.workspace.Execute(ctx, in.Command, dir)
	if err != nil {
		return "", err
	}
	out.Stdout, out.Stderr = clipped(out.Stdout), clipped(out.Stderr)
	return JSON(out), nil
}

// JSON formats a value for a model: < and > are not escaped, because code is full of
// them.
func JSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil { // which only odd types can bring about
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (e *taskRun) editCall(ctx context.Context, arguments string) (string, error) {
	if !json.Valid([]byte(arguments)) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "call " + e.Edit.Name, Why: "the arguments are no JSON object",
			Hint: "the arguments are command, path and what the command needs"}
	}
	answer, err := e.workspace.Edit(ctx, json.RawMessage(arguments))
	return string(answer), err
}

// callKey begins the keys of calls in the journal; the turn follows.
const callKey = "call-"

// CallBefore reports whether a key of a journal is that of a call in an earlier turn,
// which is not requested again.
func CallBefore(key string, turn int) bool {
	rest, ok := strings.CutPrefix(key, callKey)
	number, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n < turn
}

// maxRef is how much of an answer is stored for the next worker, in bytes.
const maxRef = 32 << 10

// onceTool makes a tool whose calls are carried out at most once in a turn, by
// whichever worker. If that is unknown, the model is told.
func (e *taskRun) onceTool(t tool.Tool) tool.Tool {
	call := t.Call
	t.Call = func(ctx context.Context, arguments string) (string, error) {
		h := fnv.New64a()
		h.Write([]byte(t.Name + "\x00" + arguments))
		key := fmt.Sprintf("%s%d-%s", callKey, e.rec.Count.Turns, strconv.FormatUint(h.Sum64(), 36))
		var refused error // an answer too: it must not stop the journal
		body, err := e.journal.Once(ctx, key, func(ctx context.Context, again bool) (string, error) {
			if again {
				return "", &fault.Error{Kind: fault.Unavailable, Op: "call " + t.Name,
					Why:  "another worker began this call, and nobody knows whether it was carried out",
					Hint: "look first whether it was"}
			}
			body, err := call(ctx, arguments)
			refused = err
			return text.Shorten(body, maxRef), nil
		})
		if refused != nil {
			return body, refused
		}
		return body, err
	}
	return t
}

// countingCall counts failures, so that a model without progress is ended.
func (e *taskRun) countingCall(name string, call func(context.Context, string) (string, error)) func(context.Context,
	string) (string, error) {
	return func(ctx context.Context, arguments string) (string, error) {
		text, err := call(ctx, arguments)
		text = escapeFences(text) // a file or a page must not imitate a fence
		e.acted = true
		if failure := failureOf(text, err); failure == "" {
			e.rec.Count.Errors = 0
		} else {
			e.countFailure(name + ": " + failure)
		}
		return text, err
	}
}

// maxFailures is how many different failures are remembered.
const maxFailures = 100

func (e *taskRun) countFailure(failure string) {
	e.rec.Count.Errors++
	h := fnv.New64a()
	h.Write([]byte(failure))
	key := strconv.FormatUint(h.Sum64(), 36)
	if e.rec.Same == nil || len(e.rec.Same) >= maxFailures {
		e.rec.Same = make(map[string]int)
	}
	e.rec.Same[key]++
}

// failureOf returns what failed in a call; empty means nothing.
func failureOf(text string, err error) string {
	if err != nil {
		var order Order
		if errors.As(err, &order) {
			return ""
		}
		return err.Error()
	}
	var out struct {
		Exit    *int   `json:"exit_code"`
		Stdout  string `json:"stdout"`
		Stderr  string `json:"stderr"`
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	switch {
	case json.Unmarshal([]byte(text), &out) != nil:
		return ""
	case out.Exit != nil && *out.Exit != 0:
		return fmt.Sprintf("status %d: %s%s", *out.Exit, out.Stderr, out.Stdout)
	case out.Success != nil && !*out.Success:
		return "error: " + out.Error
	}
	return ""
}

// failureText describes a failed call in a line.
func (e *taskRun) failureText(ev agent.Event) string {
	s := failureOf(ev.Text, nil)
	if s == "" && ev.OK != nil && !*ev.OK {
		s = refusal(ev.Text)
	}
	return e.Secrets.Text(text.Line(s, 300))
}

// observeLoop counts the calls of the model, and passes events on.
func (e *taskRun) observeLoop(ev agent.Event) {
	switch ev.Type {
	case "call":
		e.rec.Count.Actions++
		e.rec.Count.Since++
		if !e.toolNames[ev.Name] {
			e.rec.Count.Unknown++
			e.rec.Count.Errors++
			e.acted = true
		}
		e.observe(Event{Type: "call", Name: ev.Name, Text: ev.Arguments})
	case "result":
		e.observe(Event{Type: "result", Name: ev.Name, OK: ev.OK, Text: e.failureText(ev)})
	case "note", "compacted":
		e.observe(Event{Type: "note", Text: ev.Text})
	}
}

// refusal formats a refusal, which models read as JSON, for people.
func refusal(text string) string {
	var out struct {
		Error struct{ Kind, Command, Reason string }
	}
	if json.Unmarshal([]byte(text), &out) != nil || out.Error.Reason == "" {
		return text
	}
	return strings.TrimSpace(strings.ReplaceAll(out.Error.Kind, "_", " ")+" "+out.Error.Command) + ": " + out.Error.Reason
}
