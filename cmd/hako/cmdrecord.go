package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"hako/audit"
	"hako/policy"
	"hako/run/fault"
)

// mostRecorded is how much of the instructions is put on record.
const mostRecorded = 64 << 10

// recordOrder puts on record what a session is asked to do.
func (c *clerk) recordOrder(instructions string) error {
	words := []string{instructions}
	if c.prompt != "" {
		words = []string{c.prompt, instructions}
	}
	if c.planFile != "" {
		words = append(words, "plan "+c.planFile)
	}
	text := c.box.Secrets.Text(strings.TrimSpace(strings.Join(words, "\n")))
	if len(text) > mostRecorded {
		text = strings.ToValidUTF8(text[:mostRecorded], "") + " […]"
	}
	return c.box.Log.Append(c.ofSession(audit.Event{What: audit.Ordered, Reason: text}))
}

// recordEnd puts on record how a session ended, with the status that hako or the
// nested command ends with.
func (c *clerk) recordEnd(err error) error {
	e := audit.Event{What: audit.Ended, Micros: time.Since(c.began).Microseconds(), Exit: report(err, io.Discard)}
	var code exitStatus
	if err != nil && !errors.As(err, &code) {
		e.Error, e.Kind = c.box.Secrets.Text(err.Error()), fault.KindOf(err).String()
	}
	return c.box.Log.Append(c.ofSession(e))
}

// ofSession is an event of this session.
func (c *clerk) ofSession(e audit.Event) audit.Event {
	e.ID, e.Actor, e.Mode = c.box.ID, "llmcmd", "llmcmd"
	return e
}

// recordRefusal puts a file on record that the model did not get.
func (c *clerk) recordRefusal(path, mode string, err error) {
	e := audit.Event{What: audit.Denied, ID: c.box.ID, Actor: "llmcmd", Mode: "read", Effect: policy.Deny.String(), Path: path,
		Reason: c.box.Secrets.Text(err.Error()), Kind: fault.KindOf(err).String()}
	if mode != "r" {
		e.Mode = "written"
	}
	_ = c.box.Log.Append(e) // nothing was done that would have to be undone
}

// keepOutput puts the file of -o in its place: on record before, that it is going
// to be replaced, and after, with its bytes.
func (c *clerk) keepOutput() error {
	name, err := filepath.Abs(c.out.Name)
	if err != nil {
		name = c.out.Name
	}
	e := audit.Event{What: audit.Opened, ID: c.box.ID, Actor: "llmcmd", Mode: "written", Path: name}
	if err := c.box.Log.Append(e); err != nil {
		return err
	}
	e.Bytes = c.out.Bytes
	if err := c.out.Commit(); err != nil {
		return err
	}
	e.What = audit.Closed
	return c.box.Log.Append(e)
}
