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

// A verbatim is an error text that callers know verbatim from other editors of this name.
type verbatim string

func (m verbatim) Error() string { return string(m) }

func (c *Call) verbatimError(kind fault.Kind, hint, format string, args ...any) error {
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.displayPath(), Hint: hint,
		Err: verbatim(fmt.Sprintf(format, args...))}
}

func (c *Call) refuse(kind fault.Kind, why, hint string) error {
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.displayPath(), Why: why, Hint: hint}
}

func (c *Call) notFoundError() error {
	return c.verbatimError(fault.NotFound, "view the directory to see what is there",
		"The path %s does not exist. Please provide a valid path.", c.displayPath())
}

func (c *Call) existsError() error {
	return c.verbatimError(fault.Invalid, "change it with str_replace or insert, or choose another name",
		"File already exists at: %s. Cannot overwrite files using command `create`.", c.displayPath())
}

func (c *Call) outsideError(at string) error {
	return c.refuse(fault.Denied, "the path leads out of "+at, "name a file below "+at)
}

func (c *Call) changedError() error {
	return c.refuse(fault.Invalid, "the file changed since it was last viewed or edited here",
		"view it again, then repeat the edit if it still makes sense")
}

// osError converts an error of the operating system. It drops the host paths, which mean nothing to the caller.
func (e *Editor) osError(c *Call, why string, err error) error {
	cause := osReason(err)
	switch {
	case strings.Contains(cause.Error(), "escapes"): // os.Root exports no error for this
		return c.outsideError(e.at())
	case why == "" && errors.Is(cause, fs.ErrNotExist):
		return c.notFoundError()
	}
	kind, hint := classify(cause)
	return &fault.Error{Kind: kind, Op: c.Command, Subject: c.displayPath(), Why: why, Hint: hint, Err: cause}
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

// osReason strips the path from an error of package os.
func osReason(err error) error {
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

// maxQuoted is how many characters of the caller's text are quoted.
const maxQuoted = 350 // characters

// displayPath returns the path for messages.
func (c *Call) displayPath() string { return text.RecordLine(c.Path) }

func quote(s string) string { return text.Shorten(s, maxQuoted) }
