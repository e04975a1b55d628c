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

// CleanupStale removes what ended processes left behind, and containers without owner that were not used for long. It
// returns the number of removed containers and records. It leaves alone what others own, or may own.
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

// stale reports whether a box can be removed.
func (d *Manager) stale(ctx context.Context, b *box) bool {
	switch {
	case b.Doomed:
		return true
	case b.Settled:
		return d.unused(ctx, b)
	}
	return b.abandoned()
}

// takeFromPool takes a box out of the pool before it is removed, so that nobody claims it. It returns false if
// another process took it first.
func (b *box) takeFromPool() bool {
	mark := filepath.Join(b.dir, poolMark)
	if _, err := os.Lstat(mark); err != nil {
		return b.Doomed || b.TaskUUID != "" || b.abandoned()
	}
	return os.Rename(mark, mark+".swept") == nil
}

// folderMissing reports whether a box has no folder. A box has one until it is removed.
func (d *Manager) folderMissing(id string) bool {
	_, err := os.Stat(filepath.Join(d.State, "boxes", id))
	return errors.Is(err, fs.ErrNotExist)
}

// sweepOrphans removes our containers without a record if the process that made them has ended, or is this one: the
// engine may have completed a request that was cancelled.
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

// maxUnreadable is the age at which a folder with an unreadable record is removed.
const maxUnreadable = 10 * time.Minute

// sweepFolders removes folders whose creation or removal was interrupted. While it holds the lock, no process is in
// between.
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

// sweepTasks removes temporary links, and the locks of tasks that do not exist.
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

// Watch calls CleanupStale periodically until ctx ends.
func (d *Manager) Watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if n, err := d.CleanupStale(ctx); err != nil {
			d.report("sweep: " + err.Error())
		} else if n > 0 {
			d.report("removed stale containers")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
