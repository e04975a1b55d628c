package mcpserver

import (
	"context"
	"encoding/hex"

	"hako/internal/app/sandboxes"
	"hako/run/fault"
)

// Sandboxes lists the sandboxes of all callers, oldest first.
func (d *Server) Sandboxes() (list []sandboxes.Sandbox) {
	for _, b := range d.pick(func(*managedSandbox) bool { return true }) {
		if d.hold(b) {
			list = append(list, d.listing(b))
			b.users.Done()
		}
	}
	return list
}

// Task returns the task of a sandbox in a container, or "".
func (d *Server) Task(id string) string {
	b, err := d.holdPublic(id)
	if err != nil {
		return ""
	}
	defer b.users.Done()
	if m, ok := b.Sandbox.(inContainer); ok {
		return m.Task()
	}
	return ""
}

// Destroy removes a sandbox of any caller. The caller of Destroy records it.
func (d *Server) Destroy(ctx context.Context, id string) error {
	b, err := d.holdPublic(id)
	if err != nil {
		return err
	}
	b.users.Done()
	_, err = d.remove(ctx, b, errDestroyed)
	return err
}

// JobOutput returns at most so many bytes of the output of a job from an offset; a negative one counts from the end.
// next is the offset of the rest.
func (d *Server) JobOutput(ctx context.Context, id, job string, offset int64, most int) (text string, next int64,
	err error) {
	b, err := d.holdPublic(id)
	if err != nil {
		return "", 0, err
	}
	defer b.users.Done()
	j, ok := b.Sandbox.(jobs)
	if !ok {
		return "", 0, &fault.Error{Kind: fault.NotFound, Op: "read output", Subject: short(job),
			Why: "this sandbox has no jobs"}
	}
	if offset < 0 {
		_, p, err := j.JobOutput(ctx, job, 0, 1)
		if err != nil {
			return "", 0, err
		}
		offset = max(p.Total+offset, 0)
	}
	size := min(max(int64(most), 1), maxRead)
	_, p, err := j.JobOutput(ctx, job, offset, size)
	if err != nil {
		return "", 0, err
	}
	return d.opts.Secrets.Text(string(p.Data)), p.Next, nil
}

// publicName returns the name for people. The ID itself grants access to the sandbox, so it is not shown.
func (d *Server) publicName(id string) string {
	return "mcp-" + hex.EncodeToString(d.sign("public", id)[:6])
}

// hold keeps a sandbox from being closed until users.Done. Looking does not count as use: an open page must not keep a
// sandbox forever.
func (d *Server) hold(b *managedSandbox) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := d.boxes[b.id] == b
	if there {
		b.users.Add(1)
	}
	return there
}

// holdPublic is peek by the name for people.
func (d *Server) holdPublic(public string) (*managedSandbox, error) {
	for _, b := range d.pick(func(b *managedSandbox) bool { return b.public == public }) {
		if d.hold(b) {
			return b, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: short(public),
		Why: "there is none of that name"}
}

// listing describes a sandbox for people.
func (d *Server) listing(b *managedSandbox) sandboxes.Sandbox {
	out := sandboxes.Sandbox{ID: b.public, Kind: string(b.kind), State: "ready", Owner: b.actor, Created: b.made}
	if len(b.turn) > 0 {
		out.State = "running"
	}
	if t, ok := b.Sandbox.(describer); ok {
		info := t.Info()
		out.Environment, out.Network = info.Environment, info.Network
	}
	if l, ok := b.Sandbox.(jobLister); ok {
		out.Jobs = l.ListJobs()
	}
	for i := range out.Jobs {
		out.Jobs[i].Command = d.opts.Secrets.Text(out.Jobs[i].Command)
	}
	return out
}
