package mcpserver

import (
	"context"
	"encoding/hex"

	"hako/internal/app/sandboxes"
	"hako/run/fault"
)

// Sandboxes lists those of all callers for people who look after them, the
// oldest first.
func (d *Server) Sandboxes() (list []sandboxes.Sandbox) {
	for _, b := range d.pick(func(*managedSandbox) bool { return true }) {
		if d.peek(b) {
			list = append(list, d.show(b))
			b.users.Done()
		}
	}
	return list
}

// Status is what the container of a sandbox is known by elsewhere; empty means that
// it is none.
func (d *Server) Task(id string) string {
	b, err := d.peekAt(id)
	if err != nil {
		return ""
	}
	defer b.users.Done()
	if m, ok := b.Sandbox.(InContainer); ok {
		return m.Task()
	}
	return ""
}

// Destroy ends whatever runs in a sandbox of any caller and removes it. Who wants
// it is for the caller of this to put on record.
func (d *Server) Destroy(ctx context.Context, id string) error {
	b, err := d.peekAt(id)
	if err != nil {
		return err
	}
	b.users.Done()
	_, err = d.remove(ctx, b, errDestroyed)
	return err
}

// JobOutput reads at most so many bytes of what a job of a sandbox printed, from
// an offset; one less than zero counts from the end. next is where to read on.
func (d *Server) JobOutput(ctx context.Context, id, job string, offset int64, most int) (text string, next int64,
	err error) {
	b, err := d.peekAt(id)
	if err != nil {
		return "", 0, err
	}
	defer b.users.Done()
	j, ok := b.Sandbox.(Jobs)
	if !ok {
		return "", 0, &fault.Error{Kind: fault.NotFound, Op: "read output", Subject: brief(job),
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

// publicOf is the name for people of the box of an id. The id itself opens the
// sandbox, and so is not for everybody who may look.
func (d *Server) publicOf(id string) string {
	return "mcp-" + hex.EncodeToString(d.sign("public", id)[:6])
}

// peek keeps a box from being closed while somebody looks at it, until it is done
// with its users. That it is looked at does not count as use: a page that is left
// open must not keep a sandbox for ever.
func (d *Server) peek(b *managedSandbox) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := d.boxes[b.id] == b
	if there {
		b.users.Add(1)
	}
	return there
}

// peekAt is peek by the name for people.
func (d *Server) peekAt(public string) (*managedSandbox, error) {
	for _, b := range d.pick(func(b *managedSandbox) bool { return b.public == public }) {
		if d.peek(b) {
			return b, nil
		}
	}
	return nil, &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: brief(public),
		Why: "there is none of that name"}
}

// show is what people see of a box.
func (d *Server) show(b *managedSandbox) sandboxes.Sandbox {
	out := sandboxes.Sandbox{ID: b.public, Kind: string(b.kind), State: "ready", Owner: b.actor, Created: b.made}
	if len(b.turn) > 0 {
		out.State = "running"
	}
	if t, ok := b.Sandbox.(Describer); ok {
		info := t.Info()
		out.Environment, out.Network = info.Environment, info.Network
	}
	if l, ok := b.Sandbox.(JobLister); ok {
		out.Jobs = l.ListJobs()
	}
	for i := range out.Jobs {
		out.Jobs[i].Command = d.opts.Secrets.Text(out.Jobs[i].Command)
	}
	return out
}
