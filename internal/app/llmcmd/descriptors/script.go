package descriptors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"hako/run"
	"hako/run/fault"
	"hako/shell/stream"
)

// A script is a spawned script.
type script struct {
	pid    int
	stdin  *scriptStdin
	stdout writeSide // a pipe, a file or an output of the session
	stderr *pipe
	wait   *waitPolicy
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{} // closed when it has ended; the fields below are set by then
	status int
	err    error // why it did not run to its end
	stages []run.Stage

	reported atomic.Bool // the model knows how it ended
}

func scriptName(pid int) string { return "script " + strconv.Itoa(pid) }

// Write writes the standard output of the script.
func (s *script) Write(b []byte) (int, error) {
	switch {
	case s.stdout.sink != nil:
		return s.stdout.sink.write(s.ctx, s, b, s.wait)
	case s.stdout.file != nil:
		return s.stdout.file.Write(b)
	}
	return s.stdout.pipe.write(s.ctx, b, s.wait)
}

// Passing implements [run.Passing]: a pipe leads to another script or to the model.
func (s *script) Passing() bool { return s.stdout.pipe != nil }

// scriptStderr is the standard error of a script.
type scriptStderr struct{ *script }

func (m scriptStderr) Write(b []byte) (int, error) { return m.stderr.write(m.ctx, b, m.wait) }

func (m scriptStderr) Passing() bool { return true }

// run runs the script and closes its descriptors.
func (d *Table) run(s *script, w Worker, text string) {
	req := &run.Request{Actor: d.opts.Actor, Script: text, Stdin: s.stdin, Stdout: s, Stderr: scriptStderr{s}}
	if d.opts.ID != "" {
		req.ID = d.opts.ID + "/" + strconv.Itoa(s.pid)
	}
	res, err := w.Runner.Run(s.ctx, req)
	if w.Close != nil {
		w.Close()
	}
	if cerr := s.closeStreams(); err == nil {
		err = cerr
	}
	s.status, s.err = outcome(res, err)
	s.stages = res.Stages
	if s.err != nil {
		s.stderr.forceWrite(s.stderrMessage())
	}
	s.stderr.endWriting()
	d.release(s)
	s.cancel(nil)
	close(s.done)
}

// release releases the slot of a script. An exhausted budget ends the session of the model too.
func (d *Table) release(s *script) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	var f *fault.Error
	if errors.As(s.err, &f) && f.Kind == fault.Exhausted && f.Op == "charge" && d.exhausted == nil {
		d.exhausted = f
	}
}

// closeStreams closes the input and output of the script.
func (s *script) closeStreams() error {
	_ = s.stdin.in.close(false)
	switch {
	case s.stdout.sink != nil:
		s.stdout.sink.leave(s)
	case s.stdout.file != nil:
		return s.stdout.file.Close()
	default:
		s.stdout.pipe.endWriting()
	}
	return nil
}

// Exit statuses as in shells.
const (
	notRun     = 126
	timedOut   = 124
	brokenPipe = 128 + 13
)

// outcome returns the status of a script, and the error if it did not run to its end.
func outcome(res run.Result, err error) (int, error) {
	switch {
	case err == nil:
		return res.Exit, nil
	case errors.Is(err, stream.ErrPipe):
		return brokenPipe, nil // no failure, as with a process
	case fault.KindOf(err) == fault.Denied:
		return notRun, err
	case fault.KindOf(err) == fault.Timeout:
		return timedOut, err
	}
	return max(res.Exit, 1), err
}

// stderrMessage is appended to the standard error of a script that was stopped.
func (s *script) stderrMessage() string {
	text := "error: " + s.err.Error() + "\n"
	if hint := fault.Hint(s.err); hint != "" {
		text += "hint: " + hint + "\n"
	}
	return text
}

func (s *script) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// state describes a script. The caller holds mu of the table.
func (d *Table) state(s *script) string {
	name := scriptName(s.pid)
	s.reported.Store(s.ended())
	switch {
	case !s.ended():
		if why := d.needs(s, nil); why != "" {
			return name + " is running: " + why
		}
		return name + " is running"
	case s.err != nil:
		name = fmt.Sprintf("%s ended with status %d: %v", name, s.status, s.err)
		if hint := fault.Hint(s.err); hint != "" {
			name += "; " + hint
		}
	default:
		name = fmt.Sprintf("%s exited with status %d%s", name, s.status, s.failedStages())
	}
	return name + unread(s.stdout.pipe, s.stderr)
}

// failedStages lists commands that failed inside of pipelines, as in cat missing | sort.
func (s *script) failedStages() string {
	if len(s.stages) == 0 {
		return ""
	}
	list := make([]string, len(s.stages))
	for i, stage := range s.stages {
		list[i] = fmt.Sprintf("%s ended with status %d", quoteControl(stage.Name), stage.Status)
	}
	return ", but in its pipelines " + strings.Join(list, ", ")
}

// unread lists pipes with unread output.
func unread(pipes ...*pipe) string {
	var list []string
	for _, p := range pipes {
		if p == nil || p.to.fd == 0 {
			continue
		}
		if n := p.waiting(); n > 0 {
			list = append(list, fmt.Sprintf("%s to read on fd %d", size(int64(n)), p.to.fd))
		}
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// needs returns what the model has to do before s can continue; empty means nothing. It follows scripts that wait
// for each other; seen are those visited. The caller holds mu.
func (d *Table) needs(s *script, seen []*script) string {
	if slices.Contains(seen, s) {
		return "the scripts wait for each other; close one of their descriptors"
	}
	seen = append(seen, s)
	if s.ended() {
		return ""
	}
	if p := s.stdin.in.pipe; p != nil && p.readerWaits() {
		return d.otherEndNeeds(s, p.from, "waits for input on", seen)
	}
	for _, p := range []*pipe{s.stdout.pipe, s.stderr} {
		if p != nil && p.writerWaits() {
			return d.otherEndNeeds(s, p.to, "waits for somebody to read", seen)
		}
	}
	if k := s.stdout.sink; k != nil {
		if first := k.waitsFor(s); first != nil {
			return d.needs(first, seen)
		}
	}
	return ""
}

// otherEndNeeds is needs for a script that waits for the other end of a pipe.
func (d *Table) otherEndNeeds(s *script, other end, waits string, seen []*script) string {
	switch {
	case other.script != nil:
		return d.needs(other.script, seen)
	case other.fd != 0:
		return fmt.Sprintf("%s %s fd %d", scriptName(s.pid), waits, other.fd)
	}
	return ""
}

// chain returns s and the scripts that its output passes through, in order.
func (d *Table) chain(s *script) (list []*script) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s != nil && !slices.Contains(list, s) {
		list = append(list, s)
		if s.stdout.pipe == nil {
			break
		}
		s = s.stdout.pipe.to.script
	}
	return list
}
