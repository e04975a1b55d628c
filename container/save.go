package container

import (
	"context"
	"maps"

	"hako/container/clone"
	"hako/internal/text"
	"hako/run/fault"
)

// A Save describes what to save, and where.
type Save = clone.Save

// Save saves the changes of a task's project: it takes them out of the container, checks them, and pushes them from
// here, where the token is; to a branch as one commit. It returns the commit of the reference, or "" if there is
// nothing to save. A container that starts from that commit, see [Task], continues this one. The container is not
// changed, and no server is contacted if nothing changed since the last save.
func (d *Manager) Save(ctx context.Context, task string, s Save) (commit string, err error) {
	if err := s.Check(); err != nil {
		return "", err
	}
	b, finish, err := d.use(ctx, task)
	if err != nil {
		return "", err
	}
	defer finish()
	done, err := d.record(task, text.RecordLine("keep "+s.Ref))
	if err != nil {
		return "", err
	}
	commit, err = d.save(ctx, b, s)
	done(err)
	return commit, err
}

func (d *Manager) save(ctx context.Context, b *box, s Save) (string, error) {
	if b.Source.URL == "" || d.Clones == nil {
		return "", &fault.Error{Kind: fault.Invalid, Op: "save task", Subject: b.TaskUUID,
			Why: "no repository was cloned for it", Hint: "name one when the task is prepared"}
	}
	h, err := d.executor(ctx, b)
	if err != nil {
		return "", err
	}
	o := clone.Origin{Guest: h, Dir: Project, Source: b.Source, Commit: b.Commit, Key: b.Key, Kept: d.keptOf(b.Box)}
	kept, err := d.Clones.Save(ctx, o, s, d.reportQuoted)
	if err != nil {
		return "", d.explainLost(ctx, b, err)
	}
	d.rememberKept(b.Box, s, kept)
	return kept.Commit, nil
}

func (d *Manager) keptOf(id string) map[string]clone.Kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.kept[id])
}

func (d *Manager) rememberKept(id string, s Save, kept clone.Kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept[id] == nil {
		d.kept[id] = make(map[string]clone.Kept)
	}
	d.kept[id][s.Ref] = kept
	delete(d.kept[id], s.Drop)
}

func (d *Manager) forgetKept(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept, id)
}
