// Package sandboxes lists and removes sandboxes for people: containers of tasks, and sandboxes of MCP clients.
//
// Listing changes nothing and does not wait for containers that do not answer. Changes are recorded first.
package sandboxes

import (
	"context"
	"strings"
	"time"

	"hako/internal/app/access"
	"hako/internal/redact"
	"hako/run/fault"
)

// A Provider has other sandboxes, such as the MCP server. Their IDs do not begin with "task:".
type Provider interface {
	Sandboxes() []Sandbox
	Destroy(ctx context.Context, id string) error
}

// An outputReader is a [Provider] with jobs. A negative offset counts from the end.
type outputReader interface {
	JobOutput(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// containerBacked is a [Provider] that knows which of its sandboxes are containers of tasks. Those are listed once.
type containerBacked interface {
	Task(id string) string // empty means none
}

// A Service implements [hako/internal/web/api.Sandboxes]. Its fields must not change after the first use.
type Service struct {
	Containers Containers // nil means no containers
	Provider   Provider   // nil means no other sandboxes
	Record     access.Recorder
	Secrets    *redact.Set // redacted in commands and output; nil redacts nothing
}

// taskPrefix is the prefix of the IDs of containers.
const taskPrefix = "task:"

// List implements [hako/internal/web/api.Sandboxes]. What does not answer in time is shown without usage.
func (w *Service) List(ctx context.Context) ([]Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, owners, err := w.all(ctx)
	w.measure(ctx, list, owners)
	return list, err
}

// all returns all sandboxes, with the task of each that is a container.
func (w *Service) all(ctx context.Context) (list []Sandbox, owners []string, err error) {
	shown := map[string]bool{}
	for _, b := range w.sandboxes() {
		task := w.taskOf(b.ID)
		list, owners = append(list, b), append(owners, task)
		shown[task] = true
	}
	docked, err := w.containers(ctx)
	for _, b := range docked {
		if task := strings.TrimPrefix(b.ID, taskPrefix); !shown[task] {
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

// taskOf returns the task of a sandbox that is a container, or "".
func (w *Service) taskOf(id string) string {
	if task, ok := strings.CutPrefix(id, taskPrefix); ok {
		return task
	}
	if m, ok := w.Provider.(containerBacked); ok && w.Containers != nil {
		return m.Task(id)
	}
	return ""
}

// Get implements [hako/internal/web/api.Sandboxes].
func (w *Service) Get(ctx context.Context, id string) (Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, owners, err := w.all(ctx)
	for i, b := range list {
		if b.ID == id {
			w.measure(ctx, list[i:i+1], owners[i:i+1])
			return list[i], nil
		}
	}
	if err == nil {
		err = notFound(id)
	}
	return Sandbox{}, err
}

func notFound(id string) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: id, Why: "there is none",
		Hint: "it may have been removed; look at the list"}
}

// destroyTimeout bounds the time to destroy a sandbox, whose processes get time to end.
const destroyTimeout = time.Minute

// Destroy implements [hako/internal/web/api.Sandboxes]. It continues if the client disconnects.
func (w *Service) Destroy(ctx context.Context, who access.Actor, id string) error {
	list, _, err := w.all(ctx)
	if !has(list, id) {
		if err == nil {
			err = notFound(id)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTimeout)
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
	if task, ok := strings.CutPrefix(id, taskPrefix); ok {
		return w.Containers.Cleanup(ctx, task)
	}
	return w.Provider.Destroy(ctx, id)
}

// defaultOutput is the default size of an output.
const defaultOutput = 64 << 10

// Output implements [hako/internal/web/api.Sandboxes].
func (w *Service) Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64,
	err error) {
	if most <= 0 {
		most = defaultOutput
	}
	if p, ok := w.Provider.(outputReader); ok && !strings.HasPrefix(id, taskPrefix) {
		text, next, err = p.JobOutput(ctx, id, job, offset, most)
		return w.Secrets.Text(text), next, err
	}
	task := w.taskOf(id)
	if task == "" || w.Containers == nil {
		return "", 0, notFound(id)
	}
	return w.jobOutput(ctx, task, job, offset, most)
}
