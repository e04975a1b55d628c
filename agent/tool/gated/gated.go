// Package gated puts tools that reach beyond this machine, such as MCP servers and forges, behind the gate.
//
// A call becomes a command such as mcp github create_issue '{"title":"x"}' and is run like any other: rules match its
// words, the audit log shows it, a person can be asked about it. The package encodes calls as commands and has the
// runner that executes these. What is executed is exactly what was judged.
package gated

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"hako/agent/tool"
	"hako/run"
	"hako/run/fault"
)

// A Tool is a tool that reaches beyond this machine.
type Tool struct {
	tool.Tool
	Words []string // the command of a call: mcp, its server, its name
}

// A Runner executes the commands that calls became. It is a [run.Runner] to be put behind a gate.
type Runner map[string]Tool

// NewRunner returns a runner for tools. Two tools with the same words are an error.
func NewRunner(tools []Tool) (Runner, error) {
	c := make(Runner, len(tools))
	for _, t := range tools {
		name := strings.Join(t.Words, " ")
		if _, there := c[name]; there || !plain(t.Words) {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "offer tool", Subject: t.Name, Why: "its command, " + name +
				", is taken or cannot be written", Hint: "give one of the MCP servers another name"}
		}
		c[name] = t
	}
	return c, nil
}

// plain reports whether words need no quotes.
func plain(words []string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool {
		return w == "" || strings.Trim(w, letters) != "" ||
			strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(letters, r) })
	})
}

// Run implements [run.Runner].
func (c Runner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	argv, err := words(req.Program)
	if err != nil {
		return run.Result{}, err
	}
	if req.Check != nil {
		if err := req.Check(ctx, req.Dir, argv); err != nil {
			return run.Result{}, err
		}
	}
	name := strings.Join(argv[:len(argv)-1], " ")
	t, ok := c[name]
	if !ok {
		return run.Result{}, &fault.Error{Kind: fault.NotFound, Op: "call", Subject: name, Why: "there is no such tool"}
	}
	text, err := t.Call(ctx, argv[len(argv)-1])
	if err != nil {
		return run.Result{Exit: 1}, err
	}
	if req.Stdout != nil {
		_, err = io.WriteString(req.Stdout, text)
	}
	return run.Result{}, err
}

// words decodes a command: plain words, then the arguments in quotes.
func words(f *syntax.File) ([]string, error) {
	odd := &fault.Error{Kind: fault.Invalid, Op: "call", Why: "it is not one command with its arguments in quotes"}
	if f == nil || len(f.Stmts) != 1 {
		return nil, odd
	}
	st := f.Stmts[0]
	cmd, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(cmd.Args) < 2 || len(cmd.Assigns)+len(st.Redirs) > 0 || st.Negated || st.Background || st.Coprocess {
		return nil, odd
	}
	var argv []string
	for _, w := range cmd.Args {
		text, ok := literal(w)
		if !ok {
			return nil, odd
		}
		argv = append(argv, text)
	}
	return argv, nil
}

func literal(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, plain([]string{p.Value})
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	}
	return "", false
}

// Gated returns the tools for a model: each call passes gate, which has a [Runner] behind it.
func Gated(tools []Tool, gate run.Runner, id func() string, actor string) []tool.Tool {
	list := make([]tool.Tool, len(tools))
	for i, t := range tools {
		list[i] = t.Tool
		list[i].Call = func(ctx context.Context, arguments string) (string, error) {
			script, err := spelled(t, arguments)
			if err != nil {
				return "", err
			}
			var out bytes.Buffer
			_, err = gate.Run(ctx, &run.Request{ID: id(), Actor: actor, Script: script, Stdout: &out})
			return out.String(), err
		}
	}
	return list
}

// spelled encodes a call as a command. An apostrophe in JSON is always in a string, where it can be escaped, so that
// the quotes hold.
func spelled(t Tool, arguments string) (string, error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(arguments)); err != nil || !strings.HasPrefix(b.String(), "{") ||
		!utf8.ValidString(arguments) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "call " + t.Name, Why: "the arguments are no JSON object",
			Hint: "write them as one object, as the schema says"}
	}
	return strings.Join(t.Words, " ") + " '" + strings.ReplaceAll(b.String(), "'", `\u0027`) + "'", nil
}
