package console

import (
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"hako/internal/app/coder/tasks"
)

// phases are the steps of a task, in order.
var phases = []string{"planning", "environment", "execution", "verification", "delivery", "reporting", "ended"}

// orders are the orders that a task accepts in its state.
func orders(t tasks.Status) []string {
	switch t.State {
	case "done", "dead", "failed", "stopped":
		return nil
	case "paused", "parked":
		return []string{"resume", "stop"}
	}
	return []string{"pause", "stop"}
}

// step is the state of a phase: done, here or later.
func step(t tasks.Status, phase string) string {
	at, one := slices.Index(phases, t.Phase), slices.Index(phases, phase)
	switch {
	case one < at || t.Phase == "ended":
		return "done"
	case one == at:
		return "here"
	}
	return "later"
}

// tasksView is the content of the page.
type tasksView struct {
	There  bool
	Tasks  []tasks.Status
	Chosen *tasks.Status
	Err    error
}

func (c *console) drawTasks(ctx context.Context, p *page, q url.Values) templ.Component {
	v := tasksView{There: c.Sources.Tasks != nil}
	if v.There {
		v.Tasks, v.Err = c.Sources.Tasks.List(ctx)
		slices.SortStableFunc(v.Tasks, func(a, b tasks.Status) int { return b.Changed.Compare(a.Changed) })
		v.Err = c.choose(ctx, &v, q.Get("id"))
	}
	return tasksPage(p, v)
}

// choose loads the named task, or the one that changed last.
func (c *console) choose(ctx context.Context, v *tasksView, id string) error {
	switch {
	case v.Err != nil:
		return v.Err
	case id == "" && len(v.Tasks) == 0:
		return nil
	case id == "":
		id = v.Tasks[0].ID
	}
	t, err := c.Sources.Tasks.Get(ctx, id)
	if err == nil {
		v.Chosen = &t
	}
	return err
}

// orderRoute is the route of an order. Ids contain slashes.
func orderRoute(t tasks.Status, order string) string {
	return tasksRoute + "/" + url.PathEscape(t.ID) + "/" + order
}

// stepsRoute is the event stream of a task.
func stepsRoute(t tasks.Status) string {
	return tasksRoute + "/events?id=" + url.QueryEscape(t.ID)
}
