package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"hako/container/engine"
	"hako/container/guest"
	"hako/run"
	"hako/run/fault"
)

// Details are an [Info] with what the container uses now.
type Details struct {
	Info
	Usage *guest.Stats `json:"usage,omitempty"` // nil means that nobody answers
	Limit Resources    `json:"-"`
}

// ContainerInfo returns the record of a task's container.
func (d *Manager) ContainerInfo(task string) (Info, error) {
	b, err := d.find(task)
	if err != nil {
		return Info{}, err
	}
	return b.Info, nil
}

// Details returns the record of a task's container and measures it.
func (d *Manager) Details(ctx context.Context, task string) (Details, error) {
	b, err := d.find(task)
	if err != nil {
		return Details{}, err
	}
	x := Details{Info: b.Info, Limit: cmp.Or(b.Limit, d.Resources)} // the recorded limit: the settings may have changed
	if b.Bare {
		return x, d.engineDetails(ctx, b, &x)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := d.client(ctx, b)
	if err != nil {
		return x, d.engineDetails(ctx, b, &x)
	}
	s, err := c.Stats(ctx, true)
	if err != nil {
		return x, err
	}
	x.Usage = &s
	if s.Running > 0 && x.Status == Ready {
		x.Status = Running
	}
	return x, nil
}

// engineDetails asks the engine about a container.
func (d *Manager) engineDetails(ctx context.Context, b *box, x *Details) error {
	if b.ContainerID == "" {
		return nil // it does not exist yet, or was never recorded
	}
	c, err := d.Engine.Inspect(ctx, b.ContainerID)
	switch {
	case errors.Is(err, engine.ErrGone):
		x.Status = Deleted
		return nil
	case err != nil:
		return err
	case c.State != "running":
		x.Status = Stopped
		return nil
	}
	u, err := d.Engine.Usage(ctx, b.ContainerID)
	if err == nil {
		x.Usage = &guest.Stats{Processes: int(u.Pids), Memory: u.Memory, MemoryLimit: u.MemoryLimit, CPU: u.CPU}
	}
	return err
}

// Tasks lists the records of all tasks.
func (d *Manager) Tasks(ctx context.Context) ([]Info, error) {
	all, err := d.boxes()
	if err != nil {
		return nil, err
	}
	running, known := d.running(ctx)
	var list []Info
	for _, b := range all {
		if b.TaskUUID == "" {
			continue
		}
		if known && b.Status == Ready && !running[b.ContainerID] {
			b.Status = Stopped
		}
		list = append(list, b.Info)
	}
	return list, nil
}

// running returns which of our containers run; known is false if the engine does not answer.
func (d *Manager) running(ctx context.Context) (ids map[string]bool, known bool) {
	listed, err := d.Engine.List(ctx, map[string]string{labelState: d.id})
	ids = make(map[string]bool)
	for _, c := range listed {
		ids[c.ID] = c.State == "running"
	}
	return ids, err == nil
}

// WarmCount counts the containers in the pool, by environment.
func (d *Manager) WarmCount() map[string]int {
	all, _ := d.boxes()
	count := make(map[string]int)
	for _, b := range all {
		if b.warm(b.Environment, b.Fit) {
			count[b.Environment]++
		}
	}
	return count
}

// A JobClient controls background jobs; [*guest.Client] is one.
type JobClient interface {
	Jobs(ctx context.Context) ([]run.Job, error)
	Job(ctx context.Context, h run.JobHandle) (run.Job, error)
	Wait(ctx context.Context, h run.JobHandle) (run.Job, error)
	Kill(ctx context.Context, h run.JobHandle) (run.Job, error)
	Output(ctx context.Context, h run.JobHandle, offset int64, limit int) (run.JobPage, error)
}

// Jobs returns the client for the jobs of a task. It starts nothing.
func (d *Manager) Jobs(ctx context.Context, task string) (JobClient, error) {
	b, done, err := d.use(ctx, task)
	if err != nil {
		return nil, err
	}
	defer done()
	if b.Bare {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "list jobs", Subject: task,
			Why: "there are none on an engine that is another machine", Hint: "use a local engine"}
	}
	return d.client(ctx, b)
}

// CallTextEditor makes one call of the text editor for the current task.
func (d *Manager) CallTextEditor(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
	task, err := d.currentTask()
	if err != nil {
		return nil, err
	}
	return d.Edit(ctx, task, call)
}

// Edit makes one call of the text editor in the container of a task.
func (d *Manager) Edit(ctx context.Context, task string, call json.RawMessage) (answer json.RawMessage, err error) {
	b, finish, err := d.use(ctx, task)
	if err != nil {
		return nil, err
	}
	defer finish()
	if b.Bare {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "edit", Subject: task,
			Why: "there is no editor on an engine that is another machine", Hint: "edit with commands, or use a local engine"}
	}
	done, err := d.recordEdit(task, call)
	if err != nil {
		return nil, err
	}
	defer func() { done(failed(answer, err)) }()
	c, err := d.client(ctx, b)
	if err != nil {
		return nil, err
	}
	answer, err = c.Edit(ctx, call)
	return answer, d.explainLost(ctx, b, err)
}

// failed returns the error to record for a call that did not succeed.
func failed(answer json.RawMessage, err error) error {
	var r struct {
		Success bool
		Error   string
	}
	if err != nil || json.Unmarshal(answer, &r) != nil || r.Success {
		return err
	}
	return &fault.Error{Kind: fault.Invalid, Op: "edit", Why: oneLine(r.Error)}
}

// recordEdit records the command and the file of a call of the editor.
func (d *Manager) recordEdit(task string, call json.RawMessage) (done func(error), err error) {
	var c struct{ Command, Path string }
	_ = json.Unmarshal(call, &c) // the editor reports what is wrong with it
	return d.record(task, "text_editor "+oneLine(c.Command)+" "+oneLine(c.Path))
}

// record records an action. What cannot be recorded does not happen.
func (d *Manager) record(task, what string) (done func(error), err error) {
	if d.Record == nil {
		return nil, &fault.Error{Kind: fault.Denied, Op: what, Subject: task, Why: "there is no audit log"}
	}
	return d.Record(task, what)
}
