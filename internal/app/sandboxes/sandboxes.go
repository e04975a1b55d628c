// Package sandboxes lists the sandboxes and containers there are, and removes them
// for people: containers of tasks, and the sandboxes of MCP clients.
//
// The one rule to keep: looking changes nothing and waits for no container that does
// not answer; what changes something is on record first.
package sandboxes

import (
	"context"
	"strings"
	"time"

	"hako/internal/app/access"
	"hako/internal/redact"
	"hako/run/fault"
)

// A Provider is who else has sandboxes, such as the MCP door. The IDs are those that
// people see, and none begins with "task:".
type Provider interface {
	Sandboxes() []Sandbox
	Destroy(ctx context.Context, id string) error
}

// A OutputReader is a [Provider] whose sandboxes have jobs. A negative offset counts from
// the end.
type OutputReader interface {
	JobOutput(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// ContainerBacked is a [Provider] that knows which of its sandboxes are containers of the
// dock. Such a one is shown once, with what the dock knows of it.
type ContainerBacked interface {
	Task(id string) string // empty means none
}

// Service are the sandboxes and containers there are. It implements
// [hako/internal/web/api.Sandboxes]. The fields must not change after the first use.
type Service struct {
	Containers Containers // nil means that there are no containers
	Provider   Provider   // nil means that there are no sandboxes besides
	Record     access.Recorder
	Secrets    *redact.Set // are hidden in commands and outputs; nil hides nothing
}

// taskMark begins the IDs of containers of the dock: no name of a task has a
// colon, so nothing else is called the same.
const taskMark = "task:"

// List implements [hako/internal/web/api.Sandboxes]. Nothing is started for a look, and what does
// not answer in time is shown without what it uses.
func (w *Service) List(ctx context.Context) ([]Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLook)
	defer cancel()
	list, owners, err := w.known(ctx)
	w.measure(ctx, list, owners)
	return list, err
}

// known are all boxes, with the task of each that is a container of the dock.
func (w *Service) known(ctx context.Context) (list []Sandbox, owners []string, err error) {
	shown := map[string]bool{}
	for _, b := range w.sandboxes() {
		task := w.taskOf(b.ID)
		list, owners = append(list, b), append(owners, task)
		shown[task] = true
	}
	docked, err := w.containers(ctx)
	for _, b := range docked {
		if task := strings.TrimPrefix(b.ID, taskMark); !shown[task] {
			list, owners = append(list, b), append(owners, task)
		}
	}
	return list, owners, err
}

func (w *Service) sandboxes() []Sandbox {
	if w.Provider == nil {
		return nil
	}
	return w.Provider.Sandboxes()
}

// taskOf is the task of the dock that a box is; empty means none.
func (w *Service) taskOf(id string) string {
	if task, ok := strings.CutPrefix(id, taskMark); ok {
		return task
	}
	if m, ok := w.Provider.(ContainerBacked); ok && w.Containers != nil {
		return m.Task(id)
	}
	return ""
}

// Get implements [hako/internal/web/api.Sandboxes].
func (w *Service) Get(ctx context.Context, id string) (Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLook)
	defer cancel()
	list, owners, err := w.known(ctx)
	for i, b := range list {
		if b.ID == id {
			w.measure(ctx, list[i:i+1], owners[i:i+1])
			return list[i], nil
		}
	}
	if err == nil {
		err = missing(id)
	}
	return Sandbox{}, err
}

func missing(id string) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: id, Why: "there is none",
		Hint: "it may have been removed; look at the list"}
}

// removal is how long it may take to destroy a box: its processes get their time
// to end.
const removal = time.Minute

// Destroy implements [hako/internal/web/api.Sandboxes]. What was begun is brought to its end also if
// who wanted it does not wait.
func (w *Service) Destroy(ctx context.Context, who access.Actor, id string) error {
	list, _, err := w.known(ctx)
	if !has(list, id) {
		if err == nil {
			err = missing(id)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	return w.Record.Do(who, "sandbox destroy "+id, func() error { return w.destroy(ctx, id) })
}

func has(list []Sandbox, id string) bool {
	for _, b := range list {
		if b.ID == id {
			return true
		}
	}
	return false
}

func (w *Service) destroy(ctx context.Context, id string) error {
	if task, ok := strings.CutPrefix(id, taskMark); ok {
		return w.Containers.Cleanup(ctx, task)
	}
	return w.Provider.Destroy(ctx, id)
}

// usualOutput is how much of an output is read if nobody says how much.
const usualOutput = 64 << 10

// Output implements [hako/internal/web/api.Sandboxes].
func (w *Service) Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64,
	err error) {
	if most <= 0 {
		most = usualOutput
	}
	if p, ok := w.Provider.(OutputReader); ok && !strings.HasPrefix(id, taskMark) {
		text, next, err = p.JobOutput(ctx, id, job, offset, most)
		return w.Secrets.Text(text), next, err
	}
	task := w.taskOf(id)
	if task == "" || w.Containers == nil {
		return "", 0, missing(id)
	}
	return w.printed(ctx, task, job, offset, most)
}
