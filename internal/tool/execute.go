// Package tool holds the tools a model is given, each with the text it reads
// beside it: what a call may say, what is refused and why, and how the answer
// is spelled.
//
// A tool does nothing itself: it makes a [run.Request] and reads the result. The
// one rule to keep: what is refused is refused before anything runs, and the
// refusal says what to do instead.
package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"hako/internal/fault"
	"hako/internal/run"
	"hako/internal/websearch"
)

// MaxPage is the size of the largest page, and the size where none is asked for.
const MaxPage = 4096

//go:embed execute.md
var prose embed.FS

// ExecuteText returns what a model reads about execute.
func ExecuteText() string {
	b, _ := prose.ReadFile("execute.md")
	return string(b)
}

// An Executor carries out execute: commands that only read, over the granted
// files, one page of output at a time. It is safe for concurrent use if its
// Runner is.
type Executor struct {
	Runner run.Runner
	Actor  string // who asks, for the record

	Stdin io.Reader // what the first command reads if it names no file; nil means nothing

	// Files are the names of the granted files, as they were given, and Dir
	// is where relative ones start: the directory of the runner. Empty means
	// /box. No other file can be named.
	Files []string
	Dir   string
	// Real follows the links in an absolute path, so that a granted file may
	// be named by any path that leads to it. Nil means that only the spelling
	// counts.
	Real func(path string) string

	// Web says which addresses curl may ask. Nil means none.
	Web *websearch.Fetcher

	// Cache keeps answers for requests with an idempotency key; nil keeps
	// none. Fingerprint, see [Fingerprint], stands for everything granted.
	Cache       *Cache
	Fingerprint string

	// Refused is told what was refused before it came to the Runner, for the
	// record. Nil means nobody is interested.
	Refused func(actor, command string, why *fault.Error)
}

// Input is one call of execute.
type Input struct {
	Command     string `json:"command" jsonschema:"simple commands joined by |, over the granted files"`
	File        string `json:"file,omitempty" jsonschema:"the granted file it is mainly about; a hint"`
	Idempotency string `json:"idempotency,omitempty" jsonschema:"any key; the same request with the same key may be answered from memory"`
	Start       int64  `json:"start,omitempty" jsonschema:"the byte of the output the page starts at; 0 or a next_start"`
	Size        *int64 `json:"size,omitempty" jsonschema:"the most bytes of output wanted, 1 to 4096; 4096 if left out"`
}

// Output is the answer to one call of execute.
type Output struct {
	OK         bool         `json:"ok"` // it ran to its end with exit status 0
	StdoutText string       `json:"stdout_text"`
	StderrText string       `json:"stderr_text"`
	ExitCode   int          `json:"exit_code"`
	TotalBytes int64        `json:"total_bytes"` // of the whole output
	NextStart  *int64       `json:"next_start"`  // nil when this page is the last
	Truncated  bool         `json:"truncated"`   // there is more
	CacheHit   bool         `json:"cache_hit"`
	Error      *fault.Error `json:"error,omitempty"` // why it did not run, or not to its end
}

// Decode reads a call as a model writes it.
func Decode(raw []byte) (Input, error) {
	var in Input
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, &fault.Error{Kind: fault.Invalid, Op: "execute", Why: strings.TrimPrefix(err.Error(), "json: "),
			Hint: `the parameters are command, file and idempotency (texts), start and size (whole numbers)`}
	}
	return in, nil
}

// Call carries out one call. It never panics and never returns without an
// answer: a refusal is one.
func (e *Executor) Call(ctx context.Context, in Input) Output {
	size, err := e.bounds(in)
	if err != nil {
		return e.refuse(in, err)
	}
	script, err := e.check(in.Command)
	if err != nil {
		return e.refuse(in, err)
	}
	key := e.key(in, size)
	if out, ok := e.Cache.get(key); ok {
		out.CacheHit = true
		return out
	}
	out, err := e.run(ctx, script, in.Start, size)
	if err == nil {
		e.Cache.add(key, out)
	}
	return out
}

// refuse answers with a refusal and has it put on record.
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
	case size < 1 || size > MaxPage:
		return 0, bad(fmt.Sprintf("size is %d, outside 1 to %d", size, MaxPage), "ask for the rest with start=next_start")
	case in.Start < 0:
		return 0, bad(fmt.Sprintf("start is %d, below 0", in.Start), "start is a byte of the output: 0, or the next_start of the page before")
	}
	if in.File != "" {
		_, err = e.granted(in.File)
	}
	return size, err
}

// check returns the script that a command stands for, or why it is refused.
func (e *Executor) check(command string) (string, error) {
	pipeline, err := parse(command)
	if err != nil {
		return "", err
	}
	for i := range pipeline {
		if pipeline[i], err = e.admit(pipeline[i]); err != nil {
			return "", err
		}
	}
	return spell(pipeline), nil
}

// admit checks one command of the pipeline and returns the words to run.
func (e *Executor) admit(words []string) ([]string, error) {
	r, ok := readers[words[0]]
	if !ok {
		hint := allowed()
		if near, ok := fault.Nearest(words[0], Names()); ok {
			hint = "did you mean " + near + "? " + hint
		}
		return nil, &refused{"the command " + brief(words[0]) + " can not be used here", hint}
	}
	a, err := r.sortOut(words)
	if err != nil {
		return nil, err
	}
	if err := e.judge(words, r, a); err != nil {
		return nil, err
	}
	if words[0] == "sed" {
		words = append([]string{"sed", "--sandbox"}, words[1:]...)
	}
	return words, nil
}

// judge looks at what the operands are. Files that go by another name than the
// granted one get that name.
func (e *Executor) judge(words []string, r reader, a *arguments) error {
	named, text := a.operands, ""
	first := (r.operands == textFirst || r.operands == sedScript) && !a.any(r.given)
	if first && len(named) > 0 {
		text, named = named[0].value, named[1:]
	}
	switch r.operands {
	case texts:
		return nil
	case addresses:
		return e.reachable(named)
	case sedScript:
		for _, s := range a.scripts {
			text += "\n" + s.value
		}
		if err := sedReads(text); err != nil {
			return err
		}
	}
	if r.most > 0 && len(named) > r.most {
		return &refused{fmt.Sprintf("%s is given more than %d files", words[0], r.most), "a further one could be written to; the output comes back by itself"}
	}
	for _, s := range append(named, a.files...) {
		if s.value == "-" {
			continue
		}
		name, err := e.granted(s.value)
		if err != nil {
			return err
		}
		words[s.at] = s.before + name
	}
	return nil
}

// any reports whether one of the options was given.
func (a *arguments) any(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if a.seen[name] {
			return true
		}
	}
	return false
}

func (e *Executor) reachable(urls []slot) error {
	for _, u := range urls {
		if _, err := e.Web.Allow(u.value); err != nil {
			return err
		}
	}
	return nil
}

// granted returns the name by which the runner knows a granted file.
func (e *Executor) granted(name string) (string, error) {
	at := e.absolute(name)
	for _, f := range e.Files {
		if e.absolute(f) == at {
			return name, nil
		}
	}
	if e.Real != nil {
		real := e.Real(at)
		for _, f := range e.Files {
			if known := e.absolute(f); e.Real(known) == real {
				return known, nil
			}
		}
	}
	hint := "no file was granted; grant one with --file"
	if len(e.Files) > 0 {
		hint = "the granted files are " + some(e.Files)
	}
	return "", &refused{"the file " + brief(name) + " was not granted", hint}
}

// absolute spells a name the one way it is compared by.
func (e *Executor) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	dir := e.Dir
	if dir == "" {
		dir = "/box"
	}
	return path.Join(dir, name)
}

// some lists the first few of many.
func some(list []string) string {
	const most = 20
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
}

// noteSpace is kept free in stderr_text for saying that it was cut.
const noteSpace = 96

// run runs a script that was checked and cuts the page out of its output.
func (e *Executor) run(ctx context.Context, script string, start, size int64) (Output, error) {
	stdout, stderr := newWindow(start, size), newWindow(0, MaxPage-noteSpace)
	res, err := e.Runner.Run(ctx, &run.Request{Actor: e.Actor, Script: script, Stdin: e.Stdin, Stdout: stdout, Stderr: stderr})
	page, next, last := stdout.page()
	out := Output{
		OK: err == nil && res.Exit == 0, StdoutText: text(page), StderrText: noted(stderr),
		ExitCode: res.Exit, TotalBytes: stdout.total, Truncated: !last,
	}
	if !last {
		out.NextStart = &next
	}
	if err != nil {
		out.Error = asFault(script, err)
		out.ExitCode = max(res.Exit, 1)
	}
	return out, err
}

// noted is the text of standard error, with a note where it was cut.
func noted(w *window) string {
	page, next, last := w.page()
	if last {
		return text(page)
	}
	return fmt.Sprintf("%s\n[%d more bytes of standard error are not shown]\n", text(page), w.total-next)
}

// key is empty for a request that is not to be remembered. The parts are
// written with their lengths, so that no two requests share a key.
func (e *Executor) key(in Input, size int64) string {
	if in.Idempotency == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{in.Idempotency, in.Command, strconv.FormatInt(in.Start, 10), strconv.FormatInt(size, 10), e.Fingerprint} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return string(h.Sum(nil))
}

// failure is the answer to a request that was not run.
func failure(in Input, err error) Output {
	out := Output{ExitCode: 2, Error: asFault(in.Command, err)}
	if out.Error.Kind == fault.Denied {
		out.ExitCode = 126
	}
	return out
}

func asFault(command string, err error) *fault.Error {
	var e *fault.Error
	var r *refused
	switch {
	case errors.As(err, &r):
		return &fault.Error{Kind: fault.Denied, Op: "execute", Subject: brief(command), Why: r.why, Hint: r.hint}
	case errors.As(err, &e):
		return e
	}
	return &fault.Error{Kind: fault.KindOf(err), Op: "execute", Subject: brief(command), Err: err}
}
