package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"hako/internal/text"
	"hako/run/fault"
)

// A message is an error text that callers know verbatim from other editors of this name.
type message string

func (m message) Error() string { return string(m) }

func (c *Call) known(kind fault.Kind, hint, format string, args ...any) error {
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.shown(), Hint: hint,
		Err: message(fmt.Sprintf(format, args...))}
}

func (c *Call) refuse(kind fault.Kind, why, hint string) error {
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.shown(), Why: why, Hint: hint}
}

func (c *Call) missing() error {
	return c.known(fault.NotFound, "view the directory to see what is there",
		"The path %s does not exist. Please provide a valid path.", c.shown())
}

func (c *Call) exists() error {
	return c.known(fault.Invalid, "change it with str_replace or insert, or choose another name",
		"File already exists at: %s. Cannot overwrite files using command `create`.", c.shown())
}

func (c *Call) outside(at string) error {
	return c.refuse(fault.Denied, "the path leads out of "+at, "name a file below "+at)
}

func (c *Call) changed() error {
	return c.refuse(fault.Invalid, "the file changed since it was last viewed or edited here",
		"view it again, then repeat the edit if it still makes sense")
}

// failed converts an error of the operating system. It drops the host paths, which mean nothing to the caller.
func (e *Editor) failed(c *Call, why string, err error) error {
	cause := bare(err)
	switch {
	case strings.Contains(cause.Error(), "escapes"): // os.Root exports no error for this
		return c.outside(e.at())
	case why == "" && errors.Is(cause, fs.ErrNotExist):
		return c.missing()
	}
	kind, hint := classify(cause)
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.shown(), Why: why, Hint: hint, Err: cause}
}

func classify(cause error) (kind fault.Kind, hint string) {
	switch {
	case errors.Is(cause, fs.ErrPermission):
		return fault.Denied, "choose a file that may be changed, or have its permissions changed first"
	case errors.Is(cause, syscall.ENAMETOOLONG):
		return fault.Invalid, "choose a shorter name"
	case errors.Is(cause, syscall.ENOSPC), errors.Is(cause, syscall.EDQUOT):
		return fault.Exhausted, "remove what is not needed first"
	case errors.Is(cause, syscall.EROFS):
		return fault.Denied, "work on a copy elsewhere"
	}
	return fault.Other, ""
}

// bare strips the path from an error of package os.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// mostQuoted is how many characters of the caller's text are quoted.
const mostQuoted = 350 // characters

// shown returns the path for messages.
func (c *Call) shown() string { return text.RecordLine(c.Path) }

func quoted(s string) string { return text.Shorten(s, mostQuoted) }
