// Package editor is the text_editor tool: it shows, makes and changes text
// files below one directory, for callers that send one JSON call at a time.
//
// Inside are the calls, what they do to files, and the memory that undo and the
// check for changes by others need. Deliberately not inside are who may call,
// what is written down about it, and how calls travel. A change is a new file
// that takes the place of the old one, so that nobody sees half of it; mode and,
// where the system lets us, owner are kept, other names of the same file (hard
// links) and extended attributes are not.
//
// The rule to keep: what a call does not name stays as it is, byte for byte:
// tabs, line ends, byte order mark, encoding, and everything outside of the
// directory.
package editor

import (
	"context"
	"errors"
	"os"
	"sync"

	"hako/run/fault"
)

// An Editor works on the files below one directory. Its fields must not be
// changed once it was used. It is safe for concurrent use.
type Editor struct {
	Root *os.Root // the directory; nil refuses everything. The caller closes it
	At   string   // the absolute path by which callers know it; empty means /

	Relative   bool  // paths that are not absolute lie below At; false means that they are refused
	MaxFile    int64 // the largest file in bytes; zero means 10 MB
	MaxView    int   // how many bytes of a file one view shows, about; zero means 32 KB
	MaxEntries int   // how many names one view of a directory shows; zero means 1000
	MaxUndo    int   // how many edits of a file can be undone; zero means 20
	MaxHistory int64 // how many bytes are kept for undoing, in all; zero means 50 MB

	mu     sync.Mutex // held during a call: what was read must be what is remembered
	memory seenFiles
}

// What the zero values of the limits mean.
const (
	usualFile    = 10 << 20
	usualView    = 32 << 10
	usualEntries = 1000
	usualUndo    = 20
	usualHistory = 50 << 20
)

// A Result is what came of a call. Error is what the caller reads; Fault is the
// same for programs, a [fault.Error] with its kind, and nil after a success.
type Result struct {
	Success bool   `json:"success"`
	Content string `json:"content"`
	Error   string `json:"error"`
	Fault   error  `json:"-"`
}

// Answer carries out a call as it came over the wire.
func (e *Editor) Answer(ctx context.Context, raw []byte) Result {
	var c Call
	if err := c.UnmarshalJSON(raw); err != nil {
		return result("", err)
	}
	return e.Do(ctx, c)
}

// Do carries out a call. It never changes half of something: after a refusal
// all files are as they were.
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
		return "", &fault.Error{Kind: fault.Timeout, Op: c.Command, Subject: c.shown(),
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

// result words the outcome for the caller. The hint has a line of its own,
// except behind the messages that callers know word by word.
func result(content string, err error) Result {
	if err == nil {
		return Result{Success: true, Content: content}
	}
	var known message
	text := err.Error()
	if errors.As(err, &known) {
		text = string(known)
	} else if hint := fault.Hint(err); hint != "" {
		text += "\n" + hint
	}
	return Result{Error: text, Fault: err}
}
