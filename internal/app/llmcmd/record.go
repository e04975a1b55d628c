package llmcmd

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"hako/audit"
	"hako/internal/app"
	"hako/internal/term"
	"hako/policy"
	"hako/run/fault"
)

// mostRecorded is how many bytes of the instructions are recorded.
const mostRecorded = 64 << 10

// recordOrder records the instructions.
func (c *Session) recordOrder(instructions string) error {
	words := []string{instructions}
	if c.Prompt != "" {
		words = []string{c.Prompt, instructions}
	}
	if c.PlanFile != "" {
		words = append(words, "plan "+c.PlanFile)
	}
	text := c.shell.Secrets.Text(strings.TrimSpace(strings.Join(words, "\n")))
	if len(text) > mostRecorded {
		text = strings.ToValidUTF8(text[:mostRecorded], "") + " […]"
	}
	return c.shell.Log.Append(c.ofSession(audit.Event{What: audit.Ordered, Reason: text}))
}

// recordEnd records the end of a session with its exit status.
func (c *Session) recordEnd(err error) error {
	e := audit.Event{What: audit.Ended, Micros: time.Since(c.began).Microseconds()}
	var code app.ExitStatus
	if errors.As(err, &code) {
		e.Exit = int(code)
	} else if err != nil {
		e.Exit = term.Report(err, io.Discard)
		e.Error, e.Kind = c.shell.Secrets.Text(err.Error()), fault.KindOf(err).String()
	}
	return c.shell.Log.Append(c.ofSession(e))
}

// ofSession fills in the fields of an event of this session.
func (c *Session) ofSession(e audit.Event) audit.Event {
	e.ID, e.Actor, e.Mode = c.shell.ID, "llmcmd", "llmcmd"
	return e
}

// recordRefusal records a file that could not be opened.
func (c *Session) recordRefusal(path, mode string, err error) {
	e := audit.Event{What: audit.Denied, ID: c.shell.ID, Actor: "llmcmd", Mode: "read", Effect: policy.Deny.String(),
		Path:   path,
		Reason: c.shell.Secrets.Text(err.Error()), Kind: fault.KindOf(err).String()}
	if mode != "r" {
		e.Mode = "written"
	}
	_ = c.shell.Log.Append(e)
}

// keepOutput commits the file of -o, and records it before and after.
func (c *Session) keepOutput() error {
	name, err := filepath.Abs(c.outFile.Name)
	if err != nil {
		name = c.outFile.Name
	}
	e := audit.Event{What: audit.Opened, ID: c.shell.ID, Actor: "llmcmd", Mode: "written", Path: name}
	if err := c.shell.Log.Append(e); err != nil {
		return err
	}
	e.Bytes = c.outFile.Bytes
	if err := c.outFile.Commit(); err != nil {
		return err
	}
	e.What = audit.Closed
	return c.shell.Log.Append(e)
}
