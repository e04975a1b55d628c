package tasksapi

import (
	"context"
	"strings"
	"time"

	"hako/internal/redact"
	"hako/internal/web/source"
	"hako/run/fault"
)

// A Shelf is who else has sandboxes, such as the MCP door. The IDs are those that
// people see, and none begins with "task:".
type Shelf interface {
	Sandboxes() []source.Box
	Destroy(ctx context.Context, id string) error
}

// A Printer is a [Shelf] whose sandboxes have jobs. A negative offset counts from
// the end.
type Printer interface {
	JobOutput(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error)
}

// Moored is a [Shelf] that knows which of its sandboxes are containers of the
// dock. Such a one is shown once, with what the dock knows of it.
type Moored interface {
	Task(id string) string // empty means none
}

// Boxes are the sandboxes and containers there are. It implements
// [source.Boxes]. The fields must not change after the first use.
type Boxes struct {
	Dock    Dock  // nil means that there are no containers
	Shelf   Shelf // nil means that there are no sandboxes besides
	Record  Record
	Secrets *redact.Set // are hidden in commands and outputs; nil hides nothing
}

var _ source.Boxes = (*Boxes)(nil)

// taskMark begins the IDs of containers of the dock: no name of a task has a
// colon, so nothing else is called the same.
const taskMark = "task:"

// List implements [source.Boxes]. Nothing is started for a look, and what does
// not answer in time is shown without what it uses.
func (w *Boxes) List(ctx context.Context) ([]source.Box, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLook)
	defer cancel()
	list, berths, err := w.known(ctx)
	w.measure(ctx, list, berths)
	return list, err
}

// known are all boxes, with the task of each that is a container of the dock.
func (w *Boxes) known(ctx context.Context) (list []source.Box, berths []string, err error) {
	shown := map[string]bool{}
	for _, b := range w.sandboxes() {
		task := w.taskOf(b.ID)
		list, berths = append(list, b), append(berths, task)
		shown[task] = true
	}
	docked, err := w.docked(ctx)
	for _, b := range docked {
		if task := strings.TrimPrefix(b.ID, taskMark); !shown[task] {
			list, berths = append(list, b), append(berths, task)
		}
	}
	return list, berths, err
}

func (w *Boxes) sandboxes() []source.Box {
	if w.Shelf == nil {
		return nil
	}
	return w.Shelf.Sandboxes()
}

// taskOf is the task of the dock that a box is; empty means none.
func (w *Boxes) taskOf(id string) string {
	if task, ok := strings.CutPrefix(id, taskMark); ok {
		return task
	}
	if m, ok := w.Shelf.(Moored); ok && w.Dock != nil {
		return m.Task(id)
	}
	return ""
}

// Get implements [source.Boxes].
func (w *Boxes) Get(ctx context.Context, id string) (source.Box, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLook)
	defer cancel()
	list, berths, err := w.known(ctx)
	for i, b := range list {
		if b.ID == id {
			w.measure(ctx, list[i:i+1], berths[i:i+1])
			return list[i], nil
		}
	}
	if err == nil {
		err = missing(id)
	}
	return source.Box{}, err
}

func missing(id string) error {
	return &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: id, Why: "there is none", Hint: "it may have been removed; look at the list"}
}

// removal is how long it may take to destroy a box: its processes get their time
// to end.
const removal = time.Minute

// Destroy implements [source.Boxes]. What was begun is brought to its end also if
// who wanted it does not wait.
func (w *Boxes) Destroy(ctx context.Context, who source.Actor, id string) error {
	list, _, err := w.known(ctx)
	if !has(list, id) {
		if err == nil {
			err = missing(id)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	return w.Record.deed(who, "sandbox destroy "+id, func() error { return w.destroy(ctx, id) })
}

func has(list []source.Box, id string) bool {
	for _, b := range list {
		if b.ID == id {
			return true
		}
	}
	return false
}

func (w *Boxes) destroy(ctx context.Context, id string) error {
	if task, ok := strings.CutPrefix(id, taskMark); ok {
		return w.Dock.Cleanup(ctx, task)
	}
	return w.Shelf.Destroy(ctx, id)
}

// usualOutput is how much of an output is read if nobody says how much.
const usualOutput = 64 << 10

// Output implements [source.Boxes].
func (w *Boxes) Output(ctx context.Context, id, job string, offset int64, most int) (text string, next int64, err error) {
	if most <= 0 {
		most = usualOutput
	}
	if p, ok := w.Shelf.(Printer); ok && !strings.HasPrefix(id, taskMark) {
		text, next, err = p.JobOutput(ctx, id, job, offset, most)
		return w.Secrets.Text(text), next, err
	}
	task := w.taskOf(id)
	if task == "" || w.Dock == nil {
		return "", 0, missing(id)
	}
	return w.printed(ctx, task, job, offset, most)
}
