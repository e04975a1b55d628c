package container

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hako/container/engine"
	"hako/internal/ownerfile"
)

// CleanupStale removes what is left of processes that have certainly ended, and
// containers that nobody owns once nobody has used them for long. It returns how many
// containers and records it removed. What others own, or may own, is left alone.
func (d *Manager) CleanupStale(ctx context.Context) (int, error) {
	listed, err := d.Engine.List(ctx, map[string]string{labelState: d.id})
	if err != nil {
		return 0, err
	}
	all, err := d.boxes()
	if err != nil {
		return 0, err
	}
	n, known := 0, make(map[string]bool)
	for _, b := range all {
		known[b.Box] = true
		if !d.stale(ctx, b) {
			continue
		}
		removed, rerr := d.sweepBox(ctx, b)
		if removed {
			n++
		}
		err = errors.Join(err, rerr)
	}
	m, oerr := d.sweepOrphans(ctx, listed, known)
	verr := d.removeVolumes(ctx, map[string]string{labelState: d.id}, d.folderMissing)
	ierr := d.sweepImages(ctx, all)
	d.sweepFolders()
	d.sweepTasks()
	return n + m, errors.Join(err, oerr, verr, ierr)
}

// stale reports whether nobody wants a box any more.
func (d *Manager) stale(ctx context.Context, b *box) bool {
	switch {
	case b.Doomed:
		return true
	case b.Settled:
		return d.unused(ctx, b)
	}
	return b.abandoned()
}

// takeFromPool takes a warm box out of the pool, so that nobody claims it while it is
// removed. A box that somebody else just took is not stale.
func (b *box) takeFromPool() bool {
	mark := filepath.Join(b.dir, poolMark)
	if _, err := os.Lstat(mark); err != nil {
		return b.Doomed || b.TaskUUID != "" || b.abandoned()
	}
	return os.Rename(mark, mark+".swept") == nil
}

// folderMissing reports whether a box has no folder: none before it is removed is without one.
func (d *Manager) folderMissing(id string) bool {
	_, err := os.Stat(filepath.Join(d.State, "boxes", id))
	return errors.Is(err, fs.ErrNotExist)
}

// sweepOrphans removes containers of ours without a record, if the process that made them has ended, or is this one:
// the engine may have made what nobody waited for any more.
func (d *Manager) sweepOrphans(ctx context.Context, listed []engine.Container, known map[string]bool) (n int,
	err error) {
	for _, c := range listed {
		id := c.Labels[labelBox]
		if known[id] || !d.folderMissing(id) {
			continue
		}
		if o, ok := parseOwner(c.Labels[labelOwner]); !ok || !o.gone() && o != self() {
			continue
		}
		n++
		err = errors.Join(err, d.Engine.Remove(ctx, c.ID))
	}
	return n, err
}

// maxUnreadable is how old a folder with a record that cannot be read is, for nobody to mend it.
const maxUnreadable = 10 * time.Minute

// sweepFolders removes folders whose makers did not even come to the record, or whose removers did not come beyond
// it. While we hold the lock nobody is on the way between.
func (d *Manager) sweepFolders() {
	making, err := os.OpenFile(d.makingLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	defer making.Close()
	if !ownerfile.TryLock(making) {
		return
	}
	entries, _ := os.ReadDir(filepath.Join(d.State, "boxes"))
	for _, e := range entries {
		dir := filepath.Join(d.State, "boxes", e.Name())
		if strings.HasSuffix(dir, removedSuffix) {
			_ = os.RemoveAll(dir)
			continue
		}
		_, lerr := load(dir)
		info, err := e.Info()
		if lerr == nil || err != nil || !free(dir) {
			continue
		}
		if errors.Is(lerr, fs.ErrNotExist) || time.Since(info.ModTime()) > maxUnreadable {
			_ = os.RemoveAll(dir)
		}
	}
}

// sweepTasks removes links that nobody came to put in their place, and the locks of tasks that are no more.
func (d *Manager) sweepTasks() {
	links, _ := os.ReadDir(filepath.Join(d.State, "tasks"))
	for _, e := range links {
		name, fresh := strings.CutSuffix(e.Name(), "~")
		dir := filepath.Join(d.State, "boxes", strings.TrimPrefix(filepath.Ext(name), "."))
		if _, err := os.Stat(dir); fresh && errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(d.State, "tasks", e.Name()))
		}
	}
	turns, _ := os.ReadDir(filepath.Join(d.State, "turns"))
	for _, e := range turns {
		if _, err := os.Lstat(filepath.Join(d.State, "tasks", e.Name())); errors.Is(err, fs.ErrNotExist) {
			removeTaskLock(filepath.Join(d.State, "turns", e.Name()))
		}
	}
}

// Watch sweeps now and then until ctx ends.
func (d *Manager) Watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if n, err := d.CleanupStale(ctx); err != nil {
			d.report("sweep: " + err.Error())
		} else if n > 0 {
			d.report("removed what was left of others")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
