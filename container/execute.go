package container

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/container/engine"
	"hako/container/guest"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// executor returns the executor of a box: its guest, or the engine if it has none.
func (d *Manager) executor(ctx context.Context, b *box) (guest.Executor, error) {
	if b.Bare {
		return engineExec{d.Engine, b.ContainerID}, nil
	}
	return d.client(ctx, b)
}

// taskRunner runs scripts in the container of a task. It is never handed out without a gate.
type taskRunner struct {
	manager *Manager
	task    string
	jobs    bool // scripts run in the background, and their handle is printed
}

// Opaque implements [run.Opaque]: the shell in the container does not call back.
func (taskRunner) Opaque() {}

// Run implements [run.Runner].
func (r taskRunner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	b, done, err := r.manager.use(ctx, r.task)
	if err != nil {
		return run.Result{}, err
	}
	defer done()
	h, err := r.manager.executor(ctx, b)
	if err != nil {
		return run.Result{}, err
	}
	own := *req
	own.Env = append(append([]string{}, b.Env...), req.Env...)
	if r.jobs {
		return r.startJob(ctx, b, &own)
	}
	res, err := guest.Runner{Client: h, Timeout: r.manager.Timeout}.Run(ctx, &own)
	return res, r.manager.explainLost(ctx, b, err)
}

func (r taskRunner) startJob(ctx context.Context, b *box, req *run.Request) (run.Result, error) {
	c, err := r.manager.client(ctx, b)
	if err != nil {
		return run.Result{}, err
	}
	limit := req.Timeout
	if limit == 0 {
		limit = r.manager.Timeout
	}
	j, err := c.Start(ctx, guest.Command{Script: req.Script, Args: req.Args, Dir: req.Dir, Env: req.Env, Timeout: limit})
	if err == nil && req.Stdout != nil {
		_, err = fmt.Fprintln(req.Stdout, j.Handle)
	}
	return run.Result{}, err
}

// explainLost explains a broken connection: the container was killed, or ran out of memory as a whole. Others may
// have closed a connection that is shared, so the engine is asked.
func (d *Manager) explainLost(ctx context.Context, b *box, err error) error {
	if fault.KindOf(err) != fault.Unavailable || b.Bare || d.Engine == nil {
		return err
	}
	if d.stillRuns(context.WithoutCancel(ctx), b) {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "run in environment of task", Subject: b.TaskUUID,
		Why: "its container ended while a command was running", Err: err, Hint: "make a new one",
		FlagHint: "make a new one: hako env up --task " + b.TaskUUID}
}

// stillRuns reports whether the container of a box runs. The engine learns of its end a little later than its
// clients.
func (d *Manager) stillRuns(ctx context.Context, b *box) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // the guest may not answer
	defer cancel()
	for range 10 {
		c, err := d.Engine.Inspect(ctx, b.ContainerID)
		if errors.Is(err, engine.ErrGone) || err == nil && c.State != "running" {
			return false
		}
		if _, err := d.client(ctx, b); err == nil {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// readyBox returns the box of a task if commands can run in it, or if it is being removed: [Manager.use] waits for
// that to end.
func (d *Manager) readyBox(task string) (*box, error) {
	b, err := d.find(task)
	if err != nil {
		return nil, err
	}
	if b.Status != Ready && !b.Doomed {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "run in environment of task", Subject: task,
			Why: "it is not ready, it is " + string(b.Status), Hint: "wait until hako env up has ended, or run it again"}
	}
	return b, nil
}

// Runner returns a runner for scripts in the container of a task, behind the gate.
func (d *Manager) Runner(task string) run.Runner {
	return d.Gate(task, taskRunner{manager: d, task: task})
}

// Background is a [Manager.Runner] that starts scripts as jobs and prints the handle of each; see [Manager.Jobs].
func (d *Manager) Background(task string) run.Runner {
	return d.Gate(task, taskRunner{manager: d, task: task, jobs: true})
}

// SetCurrentTask sets the task that Execute and CallTextEditor are for.
func (d *Manager) SetCurrentTask(task string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = task
}

func (d *Manager) currentTask() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: "run command", Why: "no task is set", Hint: "prepare a task first"}
	}
	return d.current, nil
}

// A Result is the outcome of a command, as models read it.
type Result struct {
	ExitCode int    `json:"exit_code"` // -1 after a timeout
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Duration int64  `json:"duration_ms"`
	Log      string `json:"log,omitempty"` // what names the whole output, if a part was cut
}

// Execute runs a model's command for the current task.
func (d *Manager) Execute(ctx context.Context, command, workingDirectory string) (Result, error) {
	task, err := d.currentTask()
	if err != nil {
		return Result{}, err
	}
	return d.ExecuteIn(ctx, task, &run.Request{Actor: "agent", Script: command, Dir: workingDirectory})
}

// ExecuteIn runs a request in the container of a task. The result holds the end of its output; a log keeps all of it,
// up to a limit.
func (d *Manager) ExecuteIn(ctx context.Context, task string, req *run.Request) (Result, error) {
	b, err := d.readyBox(task)
	if err != nil {
		return Result{}, err
	}
	log := newLog(b, d.Output)
	defer log.close()
	own := *req
	own.Stdout, own.Stderr = log.stdout, log.stderr
	res, err := d.Runner(task).Run(ctx, &own)
	out := Result{ExitCode: res.Exit, Stdout: log.stdout.text(), Stderr: log.stderr.text(),
		Duration: res.Duration.Milliseconds(), Log: log.name()}
	if res.TimedOut {
		limit := own.Timeout
		if limit == 0 {
			limit = d.Timeout
		}
		out.ExitCode, err = -1, nil
		out.Stderr = strings.TrimPrefix(out.Stderr+"\nCommand timeout after "+strconv.FormatFloat(limit.Seconds(), 'f', -1,
			64)+" seconds", "\n")
	}
	return out, err
}

// logLimit is the number of bytes of one stream that a log keeps.
const logLimit = 64 << 20

// The logs of a task: their number, and their bytes together.
const (
	logs     = 20
	logBytes = 256 << 20
)

type outputLog struct {
	stdout, stderr *capturedStream
}

func newLog(b *box, keep int) *outputLog {
	base := filepath.Join(b.dir, "logs", time.Now().UTC().Format("20060102-150405.000000")+"-"+
		strings.ToLower(rand.Text()[:6]))
	return &outputLog{
		stdout: &capturedStream{path: base + ".stdout", tail: text.HeadTail{Head: -1, Tail: keep}},
		stderr: &capturedStream{path: base + ".stderr", tail: text.HeadTail{Head: -1, Tail: keep}},
	}
}

// name returns the name of the log; empty means that nothing was cut.
func (l *outputLog) name() string {
	for _, c := range []*capturedStream{l.stdout, l.stderr} {
		if c.file != nil {
			return strings.TrimSuffix(filepath.Base(c.path), filepath.Ext(c.path))
		}
	}
	return ""
}

func (l *outputLog) close() {
	for _, c := range []*capturedStream{l.stdout, l.stderr} {
		if c.file != nil {
			c.file.Close()
			prune(filepath.Dir(c.path), 2*logs, logBytes)
		}
	}
}

// capturedStream keeps the end of a stream in memory and, once that is longer, all of it in a file.
type capturedStream struct {
	path  string
	tail  text.HeadTail
	total int64
	file  *os.File
	err   error
}

// Write implements [io.Writer]. It does not fail if the log cannot be written.
func (c *capturedStream) Write(p []byte) (int, error) {
	if c.file == nil && c.err == nil && c.total+int64(len(p)) > int64(c.tail.Tail) {
		c.spill()
	}
	if room := logLimit - c.total; c.file != nil && room > 0 {
		_, c.err = c.file.Write(p[:min(int64(len(p)), room)])
	}
	c.total += int64(len(p))
	return c.tail.Write(p)
}

// spill moves everything so far to a file.
func (c *capturedStream) spill() {
	// Not MkdirAll: if the box was removed meanwhile, it stays removed.
	if err := os.Mkdir(filepath.Dir(c.path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		c.err = err
		return
	}
	if c.file, c.err = os.OpenFile(c.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); c.err != nil {
		return
	}
	prune(filepath.Dir(c.path), 2*logs, logBytes-2*logLimit) // room for both streams of this one
	all, _, _ := c.tail.Bytes()
	_, c.err = c.file.Write(all)
}

// text returns the end of the stream, with a note about what was cut.
func (c *capturedStream) text() string {
	all, tail, cut := c.tail.Bytes()
	if cut == 0 {
		return strings.ToValidUTF8(string(all), "\uFFFD")
	}
	return fmt.Sprintf("[%d of %d bytes are not shown: this is the end]\n%s", cut, c.total,
		strings.ToValidUTF8(string(tail), "\uFFFD"))
}

// prune removes the least recently written files of a directory until its number of files and bytes is within the
// limits.
func prune(dir string, keep int, most int64) {
	entries, _ := os.ReadDir(dir)
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // unless another process removed it
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(b.Name(), a.Name()))
	})
	for i, info := range files {
		if most -= info.Size(); most < 0 || i >= keep {
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}

// Log opens the log of a command whose result was cut.
func (d *Manager) Log(task, name, stream string) (io.ReadCloser, error) {
	b, err := d.find(task)
	if err != nil {
		return nil, err
	}
	if stream != "stdout" && stream != "stderr" { // or it could lead to any file
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read log", Subject: oneLine(stream), Why: "there is no such stream",
			Hint: "use stdout or stderr"}
	}
	f, err := os.Open(filepath.Join(b.dir, "logs", filepath.Base(name)+"."+stream))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read log", Subject: oneLine(name),
			Why: "there is none of this name", Hint: "results name their log; the last " + fmt.Sprint(logs) +
				" are kept, of 256 MB together at most"}
	}
	return f, err
}
