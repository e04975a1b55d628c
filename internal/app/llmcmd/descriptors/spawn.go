package descriptors

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"hako/run/fault"
)

//go:embed spawn.md
var spawnText string

type spawnInput struct {
	Script   string `json:"script"`
	StdinFD  *int   `json:"stdin_fd,omitempty" jsonschema:"none: a new pipe"`
	StdoutFD *int   `json:"stdout_fd,omitempty" jsonschema:"none: a new pipe"`
}

// spawned is the result of spawn.
type spawned struct {
	Success   bool `json:"success"`
	StdinFD   int  `json:"stdin_fd"`
	StdoutFD  int  `json:"stdout_fd"`
	StderrFD  int  `json:"stderr_fd"`
	PID       int  `json:"pid"`
	ScriptLen int  `json:"script_len"`
}

// spawn checks everything before it takes descriptors from the caller.
func (d *Table) spawn(ctx context.Context, in spawnInput) (string, error) {
	if err := d.checkScript(in.Script); err != nil {
		return "", err
	}
	if err := d.checkOpenLimit("spawn"); err != nil {
		return "", err
	}
	w, err := d.newWorker()
	if err != nil {
		return "", err
	}
	if err := d.precheck(ctx, in, w); err != nil {
		d.releaseWorker(w)
		return "", err
	}
	s, answer, err := d.connect(in, w)
	if err != nil {
		d.releaseWorker(w)
		return "", err
	}
	go func() {
		defer d.work.Done()
		d.run(s, w, in.Script)
	}()
	return encode(answer), nil
}

// precheck rejects a script that cannot run. If it was to write the output, the error is remembered.
func (d *Table) precheck(ctx context.Context, in spawnInput, w Worker) error {
	if w.Check == nil {
		return nil
	}
	err := w.Check(ctx, in.Script)
	if err == nil {
		return nil
	}
	err = spawnFault(err)
	if in.StdoutFD != nil && *in.StdoutFD == 1 {
		d.mu.Lock()
		d.refused = err
		d.mu.Unlock()
	}
	return err
}

func (d *Table) checkScript(text string) error {
	bad := func(kind fault.Kind, why, hint string) error {
		return &fault.Error{Kind: kind, Op: "spawn", Why: why, Hint: hint}
	}
	most := d.opts.Limits.ScriptBytes
	switch {
	case strings.TrimSpace(text) == "":
		return bad(fault.Invalid, "the script is blank", "write the commands that are to run, as in grep ERROR | sort")
	case len(text) > most:
		return bad(fault.TooLarge, fmt.Sprintf("the script has %d bytes, the limit is %d", len(text), most),
			"give it data by its stdin, or split it")
	case d.opts.Spawn == nil:
		return bad(fault.Denied, "no scripts can be run here", "use read and write")
	}
	return nil
}

// newWorker reserves a slot and makes a worker for a script.
func (d *Table) newWorker() (Worker, error) {
	if !d.reserve() {
		return Worker{}, &fault.Error{Kind: fault.Unavailable, Op: "spawn",
			Why:  fmt.Sprintf("%d scripts are running, which is the limit", d.opts.Limits.MaxRunning),
			Hint: "let one end first: read its output to the end, or close its descriptors"}
	}
	w, err := d.opts.Spawn(d.ctx)
	if err != nil {
		d.releaseWorker(Worker{})
		return w, spawnFault(err)
	}
	return w, nil
}

// reserve reserves a slot for a script.
func (d *Table) reserve() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running >= d.opts.Limits.MaxRunning || d.ctx.Err() != nil {
		return false
	}
	d.running++
	d.work.Add(1)
	return true
}

// releaseWorker undoes hire.
func (d *Table) releaseWorker(w Worker) {
	if w.Close != nil {
		w.Close()
	}
	d.mu.Lock()
	d.running--
	d.mu.Unlock()
	d.work.Done()
}

func spawnFault(err error) error {
	e := &fault.Error{Kind: fault.KindOf(err), Op: "spawn", Err: err, Hint: fault.Hint(err)}
	if e.Hint == "" {
		e.Hint = "try again, or go on without it"
	}
	return e
}

// connect makes the script and its descriptors.
func (d *Table) connect(in spawnInput, w Worker) (*script, spawned, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, to, err := d.grabGiven(in)
	if err != nil {
		return nil, spawned{}, err
	}
	defer from.ungrab()
	defer to.ungrab()
	s := &script{pid: len(d.scripts) + 1, stderr: new(pipe), done: make(chan struct{})}
	s.wait = &waitPolicy{pid: s.pid, pause: w.Pause, most: d.opts.Limits.Wait}
	s.ctx, s.cancel = context.WithCancelCause(d.ctx)
	a := spawned{Success: true, PID: s.pid, ScriptLen: len(in.Script)}
	s.stdin, a.StdinFD = d.connectStdin(s, from)
	s.stdout, a.StdoutFD = d.connectStdout(s, to)
	s.stderr.from.script = s
	a.StderrFD = d.addReadEnd("stderr", s, s.stderr)
	d.scripts = append(d.scripts, s)
	return s, a, nil
}

// grabGiven borrows the descriptors that are to be connected. The caller holds mu.
func (d *Table) grabGiven(in spawnInput) (from, to *descriptor, err error) {
	if in.StdinFD != nil {
		if from, err = d.grab("spawn stdin_fd", *in.StdinFD, d.forReading); err != nil {
			return nil, nil, err
		}
	}
	if in.StdoutFD != nil {
		if to, err = d.grab("spawn stdout_fd", *in.StdoutFD, d.forWriting); err != nil {
			from.ungrab()
			return nil, nil, err
		}
	}
	return from, to, nil
}

// grab borrows a descriptor that no call is using. The caller holds mu.
func (d *Table) grab(op string, fd int, find func(string, int) (*descriptor, error)) (*descriptor, error) {
	des, err := find(op, fd)
	if err != nil || des.standard() {
		return des, err
	}
	select {
	case des.busy <- struct{}{}:
		return des, nil
	default:
		return nil, fdFault(op, fd, "another call is using it", "wait for that call")
	}
}

// ungrab undoes grab.
func (des *descriptor) ungrab() {
	if des != nil && !des.standard() {
		<-des.busy
	}
}

// connectStdin makes the standard input of a script: an existing descriptor or a new pipe. The caller holds mu.
func (d *Table) connectStdin(s *script, from *descriptor) (*scriptStdin, int) {
	t := &scriptStdin{ctx: s.ctx, wait: s.wait}
	if from == nil {
		p := &pipe{to: end{script: s}}
		t.in = &readSide{pipe: p}
		p.from.fd = d.add(&descriptor{name: "stdin of " + scriptName(s.pid), details: "(write)", out: writeSide{pipe: p}})
		return t, p.from.fd
	}
	d.remove(from.fd, "it was given to "+scriptName(s.pid)+" as its standard input")
	t.in, t.head, from.in.buf = from.in, from.in.buf, nil
	if p := t.in.pipe; p != nil {
		p.to = end{script: s}
	}
	return t, from.fd
}

// connectStdout makes the standard output of a script. The caller holds mu.
func (d *Table) connectStdout(s *script, to *descriptor) (writeSide, int) {
	if to == nil {
		p := &pipe{from: end{script: s}}
		return writeSide{pipe: p}, d.addReadEnd("stdout", s, p)
	}
	switch {
	case to.standard():
		to.out.sink.enter(s)
		if to.out.sink == d.sinks[0] {
			d.outputSeen, d.refused = true, nil
		}
		return to.out, to.fd
	case to.out.pipe != nil:
		to.out.pipe.from = end{script: s}
	}
	d.remove(to.fd, "it was given to "+scriptName(s.pid)+" as its standard output")
	return to.out, to.fd
}

// addReadEnd makes a descriptor for reading what a script writes. The caller holds mu.
func (d *Table) addReadEnd(what string, s *script, p *pipe) int {
	p.to.fd = d.add(&descriptor{name: what + " of " + scriptName(s.pid), details: "(read)", in: &readSide{pipe: p},
		stderrPipe: what == "stderr"})
	return p.to.fd
}

// encode encodes a result without escaping < and >.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return strconv.Quote(err.Error()) // cannot happen
	}
	return strings.TrimSuffix(b.String(), "\n")
}
