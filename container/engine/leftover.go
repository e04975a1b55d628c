package engine

import (
	"context"
	"net/http"
	"time"

	"hako/run/fault"
)

// A Leftover is a volume or a network.
type Leftover struct {
	ID      string // what it is removed by; of a volume its name
	Name    string
	Created time.Time
	Labels  map[string]string
}

// Volumes lists the volumes that carry all the labels. An empty value means any.
func (e *Engine) Volumes(ctx context.Context, labels map[string]string) ([]Leftover, error) {
	var all struct {
		Volumes []struct {
			Name, CreatedAt string
			Labels          map[string]string
		}
	}
	if err := e.call(ctx, request{op: "list volumes", path: "/volumes", query: labelled(labels)}, &all); err != nil {
		return nil, err
	}
	var out []Leftover
	for _, v := range all.Volumes {
		out = append(out, Leftover{ID: v.Name, Name: v.Name, Created: moment(v.CreatedAt), Labels: v.Labels})
	}
	return out, nil
}

// RemoveVolume removes a volume. One that is gone already is no error; one that a
// container uses is [ErrConflict].
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	return e.removeLeftover(ctx, "remove volume", "/volumes/", name)
}

// Networks lists the networks that carry all the labels. An empty value means any.
func (e *Engine) Networks(ctx context.Context, labels map[string]string) ([]Leftover, error) {
	var all []struct {
		ID, Name, Created string
		Labels            map[string]string
	}
	if err := e.call(ctx, request{op: "list networks", path: "/networks", query: labelled(labels)}, &all); err != nil {
		return nil, err
	}
	var out []Leftover
	for _, n := range all {
		out = append(out, Leftover{ID: n.ID, Name: n.Name, Created: moment(n.Created), Labels: n.Labels})
	}
	return out, nil
}

// RemoveNetwork removes a network. One that is gone already is no error.
func (e *Engine) RemoveNetwork(ctx context.Context, id string) error {
	return e.removeLeftover(ctx, "remove network", "/networks/", id)
}

func (e *Engine) removeLeftover(ctx context.Context, op, folder, name string) error {
	if !nameLike(name) {
		return &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(name), Why: "this is not a name that docker gives"}
	}
	err := e.call(ctx, request{op: op, subject: name, method: http.MethodDelete, path: folder + name, repeatable: true},
		nil)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}
