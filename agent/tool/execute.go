// Package tool implements the tools of a model, each with its description in a file beside it: it validates calls,
// refuses what is not allowed, and encodes the results.
//
// A tool runs nothing itself: it makes a [run.Request] and reads the result. What is not allowed is refused before
// anything runs, and the refusal says what to do instead.
package tool

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hako/internal/redact"
	"hako/internal/websearch"
	"hako/run"
	"hako/run/fault"
)

// MaxPage is the size of the largest page, and the size where none is asked for.
const MaxPage = 4096

//go:embed execute.md
var executeText string

// An Executor implements the tool execute: read-only commands on the granted files, one page of output at a time. It is
// safe for concurrent use if its Runner is.
type Executor struct {
	Runner run.Runner
	Actor  string // who asks, for the audit log

	Stdin io.Reader // what the first command reads if it names no file; nil means nothing

	// Files are the names of the granted files, and Dir is the directory of relative names: that of the runner. Empty
	// means /box. No other file can be named.
	Files []string
	Dir   string
	// Real resolves the symbolic links of an absolute path, so that a granted file may be named by any path to it. Nil
	// means that names are compared as they are.
	Real func(path string) string

	// Web fetches for curl. Nil means that no URL is allowed.
	Web *websearch.Fetcher

	// Secrets are redacted from output and messages, along with whatever looks like a key or a password; nil means only
	// the latter. Verbatim redacts nothing: only for people, who can read the files themselves, never for a model.
	Secrets  *redact.Set
	Verbatim bool

	// Cache keeps results of requests with an idempotency key; nil means none. Fingerprint identifies the grants, see
	// [Fingerprint].
	Cache       *Cache
	Fingerprint string
	// State returns a text that changes when one of the granted files does, of their sizes and times for example. With
	// it and a Cache, further pages of an output come from memory. Nil means that the command runs again for each page.
	State func() string

	// Prepare is called before a command runs, to update Secrets for example. Nil means nothing.
	Prepare func()

	// Refused is called for each refusal before the Runner, and Remembered for each result from memory, for the audit
	// log. Nil means that nothing is called.
	Refused    func(actor, command string, why *fault.Error)
	Remembered func(actor, command string)
}

// Input is one call of execute.
type Input struct {
	Command     string
	File        string // the granted file that it is about; empty means none
	Idempotency string // the same request with the same key may get a cached result; empty means never
	Start       int64  // the byte of the output at which the page starts
	Size        *int64 // of the page; nil means 4096
}

// Output is the result of one call of execute.
type Output struct {
	OK         bool         `json:"ok"` // it ran to its end with exit status 0
	StdoutText string       `json:"stdout_text"`
	StderrText string       `json:"stderr_text"`
	ExitCode   int          `json:"exit_code"`
	TotalBytes int64        `json:"total_bytes"` // of the whole output
	NextStart  *int64       `json:"next_start"`  // nil when this page is the last
	Truncated  bool         `json:"truncated"`   // there is more
	CacheHit   bool         `json:"cache_hit"`
	Redacted   int          `json:"redacted"`        // places of the whole output that have a mark instead of a secret
	Note       string       `json:"note,omitempty"`  // the same in words
	Error      *fault.Error `json:"error,omitempty"` // why it did not run, or not to its end
	Effects    []run.Effect `json:"-"`               // not for models, which would pay for it
}

// executeInput is Input as a model writes it.
type executeInput struct {
	Command     string `json:"command"`
	File        string `json:"file,omitempty" jsonschema:"file it is about"`
	Idempotency string `json:"idempotency,omitempty" jsonschema:"key for cached answers"`
	Start       int64  `json:"start,omitempty" jsonschema:"0 or a next_start"`
	Size        int64  `json:"size,omitempty" jsonschema:"bytes, up to 4096"`
}

// Tool returns the tool for a model. A command with another exit status than 0 is no error; the error is that of
// Output.
func (e *Executor) Tool() Tool {
	return New("execute", executeText, func(ctx context.Context, m executeInput) (string, error) {
		in := Input{Command: m.Command, File: m.File, Idempotency: m.Idempotency, Start: m.Start}
		if m.Size != 0 { // models send zero for a missing value
			in.Size = &m.Size
		}
		out := e.Call(ctx, in)
		text, err := compact(out)
		if err == nil && out.Error != nil {
			err = out.Error
		}
		return text, err
	})
}

// Call executes one call. A refusal is an Output too.
func (e *Executor) Call(ctx context.Context, in Input) Output {
	size, err := e.bounds(in)
	if err != nil {
		return e.refuse(in, err)
	}
	prog, err := e.check(in)
	if err != nil {
		return e.refuse(in, err)
	}
	page, whole := e.key(in, size), e.wholeKey(prog.script)
	if out, ok := e.recall(page, whole, in.Start, size); ok {
		if e.Remembered != nil {
			e.Remembered(e.Actor, in.Command)
		}
		return out
	}
	out, all, err := e.run(ctx, prog, in.Start, size)
	if err == nil {
		e.Cache.add(page, out)
		e.Cache.keep(whole, all)
	}
	return out
}

// recall returns a cached result: a page of the same key, or a further page of an output that is kept.
func (e *Executor) recall(page, whole string, start, size int64) (out Output, ok bool) {
	if out, ok = e.Cache.get(page); !ok && start > 0 {
		var all *output
		if all, ok = e.Cache.output(whole); ok {
			out = all.page(start, size)
		}
	}
	out.CacheHit = ok
	return out, ok
}

// refuse reports and returns a refusal.
func (e *Executor) refuse(in Input, err error) Output {
	out := failure(in, err)
	if e.Refused != nil {
		e.Refused(e.Actor, in.Command, out.Error)
	}
	return out
}

// bounds checks everything but the command.
func (e *Executor) bounds(in Input) (size int64, err error) {
	size = MaxPage
	if in.Size != nil {
		size = *in.Size
	}
	bad := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "execute", Subject: brief(in.Command), Why: why, Hint: hint}
	}
	switch {
	case size > MaxPage:
		return 0, bad(fmt.Sprintf("size is %d, outside 1 to %d", size, MaxPage), "ask for the rest with start=next_start")
	case size < 1:
		return 0, bad(fmt.Sprintf("size is %d, outside 1 to %d", size, MaxPage),
			fmt.Sprintf("leave it out to get %d bytes", MaxPage))
	case in.Start < 0:
		return 0, bad(fmt.Sprintf("start is %d, below 0", in.Start),
			"start is a byte of the output: 0, or the next_start of the page before")
	}
	if in.File != "" {
		_, err = e.granted(in.File)
	}
	return size, err
}

// noteSpace is reserved in stderr_text for the note that it was cut.
const noteSpace = 96

// run runs a checked program and returns the page of its output, and the whole output if further pages need it.
func (e *Executor) run(ctx context.Context, prog program, start, size int64) (Output, *output, error) {
	if e.Prepare != nil {
		e.Prepare()
	}
	stdout, stderr := newWindow(start, size), newWindow(0, MaxPage-noteSpace)
	stdout.record = e.State != nil && e.Cache != nil
	req := &run.Request{Actor: e.Actor, Script: prog.script, Program: prog.file, Stdin: e.Stdin, Stdout: stdout,
		Stderr: stderr}
	var clean [2]*redact.Writer
	redacted := 0
	if !e.Verbatim {
		clean = [2]*redact.Writer{redact.NewWriter(stdout, e.Secrets), redact.NewWriter(stderr, e.Secrets)}
		req.Stdout, req.Stderr = clean[0], clean[1]
	}
	res, err := e.Runner.Run(ctx, req)
	for _, w := range clean {
		if w != nil {
			_ = w.Close() // a window never fails
			redacted += w.Places()
		}
	}
	all := &output{stderr: noted(stderr), exit: res.Exit, redacted: redacted}
	out := all.answer(stdout)
	out.Effects = res.Effects
	if err != nil {
		out.OK, out.Error = false, asFault(prog.script, err)
		out.ExitCode = max(res.Exit, 1)
	}
	if all.stdout = stdout.whole; !stdout.record || !out.Truncated {
		all = nil
	}
	return out, all, err
}

// noted is the text of standard error, with a note if it was cut.
func noted(w *window) string {
	page, next, last := w.page()
	if last {
		return validText(page)
	}
	return fmt.Sprintf("%s\n[%d more bytes of standard error are not shown]\n", validText(page), w.total-next)
}

// key is the cache key of a page; empty means that it is not cached.
func (e *Executor) key(in Input, size int64) string {
	if in.Idempotency == "" || e.Cache == nil {
		return ""
	}
	return digest(in.Idempotency, in.Command, strconv.FormatInt(in.Start, 10), strconv.FormatInt(size, 10), e.Fingerprint)
}

// wholeKey is the cache key of the whole output of a script.
func (e *Executor) wholeKey(script string) string {
	if e.State == nil || e.Cache == nil {
		return ""
	}
	return digest(script, e.Fingerprint, e.State())
}

// digest hashes the parts with their lengths, so that no two lists collide.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return string(h.Sum(nil))
}

// failure is the result of a request that was not run.
func failure(in Input, err error) Output {
	out := Output{ExitCode: 2, Error: asFault(in.Command, err)}
	if out.Error.Kind == fault.Denied {
		out.ExitCode = 126
	}
	return out
}

func asFault(command string, err error) *fault.Error {
	if r, ok := errors.AsType[*refused](err); ok {
		return &fault.Error{Kind: fault.Denied, Op: "execute", Subject: brief(command), Why: r.why, Rule: r.rule,
			Hint: r.hint}
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return &fault.Error{Kind: fault.KindOf(err), Op: "execute", Subject: brief(command), Err: err}
}
