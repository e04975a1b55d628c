package descriptors

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"hako/run/fault"
)

//go:embed exit.md
var exitText string

type exitInput struct {
	Code    int    `json:"code" jsonschema:"0 to 255"`
	Message string `json:"message,omitempty"`
}

// exitWait is how long exit waits for other calls.
const exitWait = 2 * time.Second

// exitTool implements the tool exit.
func (d *Table) exitTool(ctx context.Context, in exitInput) (string, error) {
	if in.Code < 0 || in.Code > 255 {
		return "", &fault.Error{Kind: fault.Invalid, Op: "exit", Why: fmt.Sprintf("code is %d, outside 0 to 255", in.Code),
			Hint: "0 means success, any other that something went wrong"}
	}
	others, err := d.refuseCalls(in)
	if err != nil {
		return "", err
	}
	select {
	case <-others:
	case <-ctx.Done():
	case <-time.After(exitWait):
	}
	if err := d.Finish(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("exited with status %d", in.Code), nil
}

// refuseCalls refuses all further calls. The channel is closed when those in progress have ended.
func (d *Table) refuseCalls(in exitInput) (<-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exit != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "exit", Why: "another call of exit came first",
			Hint: "stop calling tools"}
	}
	if in.Code == 0 && d.opts.MustWrite && !d.outputSeen && d.refused == nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "exit", Why: "nothing was written to fd 1, which is to become " +
			quoteControl(d.opts.Stdout.Name),
			Hint: "write the result to fd 1 first, with data \"\" if it is to be empty; if there is none, exit with a code other than 0"}
	}
	if in.Code == 0 && d.refused != nil && d.err == nil {
		d.err = refusedOutput(d.refused)
	}
	d.exit = &in
	others := make(chan struct{})
	if d.calls <= 1 {
		close(others)
	} else {
		d.onlyExit = others
	}
	return others, nil
}

// Finish ends the session when no more calls will come: it closes the inputs of scripts and waits for those that
// the output depends on, and a few seconds for the others. It returns [Table.Err]. The tool exit calls it.
func (d *Table) Finish(ctx context.Context) error {
	for _, des := range d.openDescriptors() {
		if des.standard() {
			continue
		}
		// Discard what scripts still write, so that they end normally.
		if err := d.closeDescriptor(des, true); err != nil && des.out.file != nil {
			d.fail(fileFault("close", des.name, err))
		}
	}
	d.await(ctx)
	d.copyUnreadStderr()
	for _, fd := range []int{1, 2} {
		if err := d.sinks[fd-1].flush(); err != nil {
			d.fail(&fault.Error{Kind: fault.KindOf(err), Op: "write", Subject: fmt.Sprintf("fd %d", fd), Err: err,
				Hint: "see that there is room, and that somebody reads it"})
		}
	}
	return d.Err()
}

// await waits for the scripts.
func (d *Table) await(ctx context.Context) {
	d.mu.Lock()
	scripts := d.scripts
	d.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, d.opts.Limits.Finish)
	defer cancel()
	for _, s := range scripts {
		limit, matters := short, d.affectsOutput(s)
		if matters {
			limit = ctx
		}
		if s.waitEnd(limit) != nil {
			s.cancel(errEnded)
			<-s.done
		}
		switch {
		case !matters || s.reported.Load():
		case s.err != nil:
			d.fail(incompleteOutput(s))
		case s.status > 1 && s.status != brokenPipe: // grep and diff use 1 for an answer
			d.fail(unseenFailure(s))
		}
	}
}

// unseenFailure is the error of output by a script that failed, of which the model does not know.
func unseenFailure(s *script) error {
	return &fault.Error{Op: "finish", Subject: scriptName(s.pid),
		Why:  fmt.Sprintf("it ended with status %d, and nobody looked at it", s.status),
		Hint: "close its descriptors, or read its stderr, before exit"}
}

// refusedOutput is the error of an exit with success although the script for the output was denied.
func refusedOutput(refused error) error {
	return &fault.Error{Kind: fault.KindOf(refused), Op: "finish",
		Why: "the script for fd 1 was refused, and nothing else was written there",
		Err: refused, Hint: fault.Hint(refused)}
}

// incompleteOutput is the error of an incomplete output.
func incompleteOutput(s *script) error {
	e := &fault.Error{Kind: fault.KindOf(s.err), Op: "finish", Subject: scriptName(s.pid),
		Why: "it was stopped before its output was whole",
		Err: s.err, Hint: fault.Hint(s.err)}
	if e.Hint == "" {
		e.Hint = "do not use the output"
	}
	return e
}

// affectsOutput reports whether the output of s ends up in an output or a file.
func (d *Table) affectsOutput(s *script) bool {
	list := d.chain(s)
	return list[len(list)-1].stdout.pipe == nil
}

// copyUnreadStderr copies unread standard error of scripts to that of the session.
func (d *Table) copyUnreadStderr() {
	d.mu.Lock()
	scripts := d.scripts
	d.mu.Unlock()
	for _, s := range scripts {
		kept, lost := s.stderr.takeKept()
		if len(kept) == 0 {
			continue
		}
		if kept[len(kept)-1] != '\n' {
			kept = append(kept, '\n')
		}
		if lost > 0 {
			kept = fmt.Appendf(kept, "[%s wrote %s more to its standard error]\n", scriptName(s.pid), size(lost))
		}
		d.sinks[1].append(kept)
	}
}
