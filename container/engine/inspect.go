package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Container is one as the engine describes it.
type Container struct {
	ID      string
	Name    string // without the leading slash
	Image   string // as it was asked for
	ImageID string // "sha256:…"
	State   string // created, running, paused, restarting, removing, exited or dead
	Created time.Time
	Labels  map[string]string
	Mounts  []MountPoint

	// Only from Inspect; zero in a list.
	Running   bool
	PID       int // of the first process, on the engine's machine
	ExitCode  int
	OOMKilled bool
	Error     string // why it did not start
	Started   time.Time
	Finished  time.Time
}

// A MountPoint is a mount as the engine describes it.
type MountPoint struct {
	Kind     MountKind // or "tmpfs"
	Name     string    // of a volume
	Source   string    // a path on the engine's machine
	Target   string
	ReadOnly bool
}

type wirePoint struct {
	Type                      MountKind
	Name, Source, Destination string
	RW                        bool
}

func points(all []wirePoint) []MountPoint {
	var out []MountPoint
	for _, p := range all {
		out = append(out, MountPoint{p.Type, p.Name, p.Source, p.Destination, !p.RW})
	}
	return out
}

// Inspect describes a container by its name or id. If there is none, the error is
// [ErrGone].
func (e *Engine) Inspect(ctx context.Context, id string) (Container, error) {
	const op = "inspect container"
	path, err := containerPath(op, id, "/json")
	if err != nil {
		return Container{}, err
	}
	r := request{op: op, subject: id, path: path}
	var c wireContainer
	if err := e.call(ctx, r, &c); err != nil {
		return Container{}, err
	}
	if !nameLike(c.ID) {
		return Container{}, garbled(r)
	}
	return c.container(), nil
}

type wireContainer struct {
	ID, Name, Image, Created string
	Config                   struct {
		Image  string
		Labels map[string]string
	}
	State struct {
		Status, Error, StartedAt, FinishedAt string
		Running, OOMKilled                   bool
		Pid, ExitCode                        int
	}
	Mounts []wirePoint
}

func (c wireContainer) container() Container {
	s := c.State
	return Container{
		ID: c.ID, Name: clean(strings.TrimPrefix(c.Name, "/")), Image: clean(c.Config.Image), ImageID: clean(c.Image),
		State: clean(s.Status), Created: moment(c.Created), Labels: c.Config.Labels, Mounts: points(c.Mounts),
		Running: s.Running, PID: s.Pid, ExitCode: s.ExitCode, OOMKilled: s.OOMKilled, Error: clean(s.Error),
		Started: moment(s.StartedAt), Finished: moment(s.FinishedAt),
	}
}

// moment reads a time; what is none, or was never, is the zero time.
func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}

// List describes the containers that carry all the labels, whatever their state.
// An empty value means any; no labels mean every container.
func (e *Engine) List(ctx context.Context, labels map[string]string) ([]Container, error) {
	r := request{op: "list containers", path: "/containers/json", query: labelled(labels)}
	r.query.Set("all", "1")
	var all []struct {
		ID, Image, ImageID, State string
		Names                     []string
		Created                   int64
		Labels                    map[string]string
		Mounts                    []wirePoint
	}
	if err := e.call(ctx, r, &all); err != nil {
		return nil, err
	}
	var out []Container
	for _, c := range all {
		name := ""
		if len(c.Names) > 0 {
			name = clean(strings.TrimPrefix(c.Names[0], "/"))
		}
		out = append(out, Container{
			ID: c.ID, Name: name, Image: clean(c.Image), ImageID: clean(c.ImageID), State: clean(c.State),
			Created: time.Unix(c.Created, 0), Labels: c.Labels, Mounts: points(c.Mounts), Running: c.State == "running",
		})
	}
	return out, nil
}

// labelled is the query that chooses by label.
func labelled(labels map[string]string) url.Values {
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
	text, _ := json.Marshal(map[string][]string{"label": wanted}) // strings always can be written
	return url.Values{"filters": {string(text)}}
}
