package container

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hako/container/engine"
	"hako/container/guest"
	"hako/internal/ownerfile"
	"hako/run/fault"
)

const (
	usedMark  = "used"  // its modification time is the last use of the box
	guardName = "guard" // locked while a use of the box begins, and while it is removed
)

// use returns the box of a task and locks it until done is called. A box in use is not removed: the lock is taken
// under the guard, which the sweeper holds from its last check until the box is removed.
func (d *Manager) use(ctx context.Context, task string) (b *box, done func(), err error) {
	for {
		if b, err = d.readyBox(task); err != nil {
			return nil, nil, err
		}
		guard, err := b.guard(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile; the task may have another box
		}
		if err != nil {
			return nil, nil, err
		}
		done, err := b.hold(task)
		guard.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return b, done, err
		}
	}
}

// guard waits for the guard of a box.
func (b *box) guard(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, guardName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockWithin(ctx, f); err != nil {
		return nil, err
	}
	if !current(f) {
		f.Close()
		return nil, fs.ErrNotExist
	}
	return f, nil
}

// hold locks a box for one use. The caller holds the guard.
func (b *box) hold(task string) (done func(), err error) {
	now, err := load(b.dir) // it may have changed while we waited
	if err != nil {
		return nil, err
	}
	if now.Doomed {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "run in environment of task", Subject: task,
			Why: "it is being removed", Hint: "make a new one", FlagHint: "make a new one: hako env up --task " + task}
	}
	f, err := b.lock()
	if err != nil {
		return nil, err
	}
	b.touch()
	return func() {
		b.touch()
		_ = os.Remove(f.Name())
		f.Close()
	}, nil
}

// touch records the time of use. If it cannot be written, the lock still protects the box while it is used.
func (b *box) touch() {
	path := filepath.Join(b.dir, usedMark)
	now := time.Now()
	if os.Chtimes(path, now, now) != nil {
		_ = os.WriteFile(path, nil, 0o600)
	}
}

// lastUse returns the recorded time of the last use.
func (b *box) lastUse() time.Time {
	if info, err := os.Stat(filepath.Join(b.dir, usedMark)); err == nil && info.ModTime().After(b.Created) {
		return info.ModTime()
	}
	return b.Created
}

// unused reports whether a box was unused for longer than Options.Stale, and nothing runs in it.
func (d *Manager) unused(ctx context.Context, b *box) bool {
	if b.Owner.Host != self().Host && !b.Owner.before(self()) {
		return false // only its own machine can determine that
	}
	if time.Since(b.lastUse()) <= d.Stale || !free(b.dir) {
		return false
	}
	busy, last := d.activity(ctx, b)
	return !busy && time.Since(last) > d.Stale
}

// Busy reports whether something runs in the container of a task, or that cannot be determined.
func (d *Manager) Busy(ctx context.Context, task string) bool {
	b, err := d.find(task)
	if err != nil {
		return fault.KindOf(err) != fault.NotFound
	}
	busy, _ := d.activity(ctx, b)
	return busy
}

const activityTimeout = 5 * time.Second

// activity asks a container whether something runs in it, and when the last job ended. A container that does not
// answer counts as busy; one that has ended does not.
func (d *Manager) activity(ctx context.Context, b *box) (busy bool, last time.Time) {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	if b.Bare {
		return d.activityBare(ctx, b), last
	}
	c, err := guest.Dial(ctx, b.socket())
	if err != nil {
		return fault.KindOf(err) != fault.Unavailable || ctx.Err() != nil, last
	}
	defer c.Close()
	s, err := c.Stats(ctx, false)
	if err != nil || s.Running > 0 || s.LeftBehind > 0 {
		return true, last
	}
	jobs, err := c.Jobs(ctx)
	for _, j := range jobs {
		if j.Ended.After(last) {
			last = j.Ended
		}
	}
	return err != nil, last
}

// activityBare asks the engine: an idle container without guest has one process.
func (d *Manager) activityBare(ctx context.Context, b *box) bool {
	c, err := d.Engine.Inspect(ctx, b.ContainerID)
	if errors.Is(err, engine.ErrGone) || err == nil && c.State != "running" {
		return false
	}
	u, err := d.Engine.Usage(ctx, b.ContainerID)
	return err != nil || u.Pids > 1
}

// sweepBox removes a stale box, and reports whether it did. Nobody can begin to use it between the last check and the
// removal.
func (d *Manager) sweepBox(ctx context.Context, b *box) (bool, error) {
	guard, err := os.OpenFile(filepath.Join(b.dir, guardName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, nil // another process removed it
	}
	defer guard.Close()
	if !ownerfile.TryLock(guard) {
		return false, nil
	}
	if b, err = load(b.dir); err != nil || !d.stale(ctx, b) || !b.takeFromPool() {
		return false, nil
	}
	return true, d.remove(ctx, b)
}
