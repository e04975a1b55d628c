// Package editor implements the text_editor tool: it views, creates and changes text files below one directory.
//
// A change is written to a new file that replaces the old one, so that nobody sees half of it. Mode and, where the
// system permits, owner are kept; hard links and extended attributes are not. Everything else that a call does not
// name stays unchanged, byte for byte: tabs, line ends, byte order mark, encoding.
package editor

import (
	"context"
	"errors"
	"os"
	"sync"

	"hako/run/fault"
)

// An Editor edits the files below one directory. Its fields must not change after the first use. It is safe for
// concurrent use.
type Editor struct {
	Root *os.Root // the directory; nil refuses everything. The caller closes it
	At   string   // the absolute path by which callers know it; empty means /

	Relative   bool  // accept paths relative to At
	MaxFile    int64 // maximum size of a file; zero means 10 MB
	MaxView    int   // about how many bytes of a file a view shows; zero means 32 KB
	MaxEntries int   // names shown of a directory; zero means 1000
	MaxUndo    int   // edits of a file that can be undone; zero means 20
	MaxHistory int64 // bytes kept for undo; zero means 50 MB

	mu     sync.Mutex // held during a call
	memory seenFiles
}

// Defaults of the limits.
const (
	defaultMaxFile    = 10 << 20
	defaultMaxView    = 32 << 10
	defaultMaxEntries = 1000
	defaultMaxUndo    = 20
	defaultMaxHistory = 50 << 20
)

// A Result is the result of a call. Error is for the caller; Fault is the same for programs, usually a [fault.Error].
type Result struct {
	Success bool   `json:"success"`
	Content string `json:"content"`
	Error   string `json:"error"`
	Fault   error  `json:"-"`
}

// Answer carries out a call in JSON.
func (e *Editor) Answer(ctx context.Context, raw []byte) Result {
	var c Call
	if err := c.UnmarshalJSON(raw); err != nil {
		return result("", err)
	}
	return e.Do(ctx, c)
}

// Do carries out a call. After an error all files are unchanged.
func (e *Editor) Do(ctx context.Context, c Call) Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	return result(e.do(ctx, &c))
}

func (e *Editor) do(ctx context.Context, c *Call) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", &fault.Error{Kind: fault.Timeout, Op: c.Command, Subject: c.displayPath(),
			Why: "the call was given up before it began", Err: err}
	}
	p, err := e.find(c)
	if err != nil {
		return "", err
	}
	switch c.Command {
	case view:
		return e.view(ctx, c, p)
	case create:
		return e.create(ctx, c, p)
	case strReplace:
		return e.replace(ctx, c, p)
	case insert:
		return e.insert(ctx, c, p)
	}
	return e.undo(ctx, c, p)
}

// result formats the outcome for the caller. The hint has its own line, except after messages that callers know
// verbatim.
func result(content string, err error) Result {
	if err == nil {
		return Result{Success: true, Content: content}
	}
	var known verbatim
	text := err.Error()
	if errors.As(err, &known) {
		text = string(known)
	} else if hint := fault.Hint(err); hint != "" {
		text += "\n" + hint
	}
	return Result{Error: text, Fault: err}
}
