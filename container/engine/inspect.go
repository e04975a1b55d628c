package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
)

// A Container is a container as the engine describes it.
type Container struct {
	ID       string
	State    string // created, running, paused, restarting, removing, exited or dead
	Labels   map[string]string
	PID      int // of the first process, on the engine's machine; only from Inspect
	ExitCode int // only from Inspect
}

// Inspect describes a container by its name or ID. If there is none, the error is [ErrGone].
func (e *Engine) Inspect(ctx context.Context, id string) (Container, error) {
	const op = "inspect container"
	path, err := containerPath(op, id, "/json")
	if err != nil {
		return Container{}, err
	}
	r := request{op: op, subject: id, path: path}
	var c struct {
		ID     string
		Config struct{ Labels map[string]string }
		State  struct {
			Status        string
			Pid, ExitCode int
		}
	}
	if err := e.call(ctx, r, &c); err != nil {
		return Container{}, err
	}
	if !nameLike(c.ID) {
		return Container{}, garbled(r)
	}
	return Container{ID: c.ID, State: clean(c.State.Status), Labels: c.Config.Labels, PID: c.State.Pid,
		ExitCode: c.State.ExitCode}, nil
}

// List describes the containers that carry all the labels, whatever their state. An empty value matches any; no labels
// mean every container.
func (e *Engine) List(ctx context.Context, labels map[string]string) ([]Container, error) {
	r := request{op: "list containers", path: "/containers/json", query: labelFilter(labels)}
	r.query.Set("all", "1")
	var all []Container
	if err := e.call(ctx, r, &all); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].State = clean(all[i].State)
	}
	return all, nil
}

// labelFilter returns the query that selects by label.
func labelFilter(labels map[string]string) url.Values {
	if len(labels) == 0 {
		return url.Values{}
	}
	var wanted []string
	for k, v := range labels {
		if v != "" {
			k += "=" + v
		}
		wanted = append(wanted, k)
	}
	slices.Sort(wanted)
	text, _ := json.Marshal(map[string][]string{"label": wanted}) // strings can always be encoded
	return url.Values{"filters": {string(text)}}
}
