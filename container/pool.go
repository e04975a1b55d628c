package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hako/container/engine"
	"hako/run/fault"
)

// A pool keeps containers warm: started, with their guest listening, but without a task. Each is used once.
type pool struct {
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}
	made   map[string]*os.File // our boxes that are not known to be taken, with our locks; only used by fillPool
}

func (p *pool) stop() {
	if p.cancel != nil {
		p.cancel()
		<-p.done
	}
}

// StopWarming stops filling the pool.
func (d *Manager) StopWarming() { d.pool.stop() }

// KeepWarm fills the pool as set by Options.Warm, and keeps it filled until the Manager is closed.
func (d *Manager) KeepWarm(ctx context.Context) {
	d.pool.once.Do(func() {
		ctx, d.pool.cancel = context.WithCancel(ctx)
		d.pool.done, d.pool.wake, d.pool.made = make(chan struct{}), make(chan struct{}, 1), make(map[string]*os.File)
		go d.fillPool(ctx)
	})
}

func (d *Manager) fillPool(ctx context.Context) {
	defer close(d.pool.done)
	for {
		for name, want := range d.Warm {
			if err := d.warm(ctx, name, want); err != nil && ctx.Err() == nil {
				d.report("keep " + name + " environment warm: " + err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-d.pool.wake: // a container was taken here, by a task that needs the engine now
			pause(ctx, hurry)
		case <-time.After(time.Second): // one may have been taken by another process
		}
		d.releaseTaken()
	}
}

// hurry is how long the pool leaves the engine to a task that took a container.
const hurry = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// releaseTaken releases our locks of boxes that were taken: they belong to the taker, even if it died before it
// recorded that.
func (d *Manager) releaseTaken() {
	for id, f := range d.pool.made {
		if _, err := os.Lstat(filepath.Join(d.State, "boxes", id, poolMark)); err == nil {
			continue
		}
		delete(d.pool.made, id)
		d.mu.Lock()
		if d.held[id] == f { // otherwise this process has taken it, and holds another lock
			f.Close()
			delete(d.held, id)
		}
		d.mu.Unlock()
	}
}

// removeOutdated removes our boxes whose guest died or whose fingerprint changed.
func (d *Manager) removeOutdated(ctx context.Context, environment, fit string) {
	for id := range d.pool.made {
		b, err := load(filepath.Join(d.State, "boxes", id))
		if err != nil || b.Environment != environment || b.Fit == fit && !d.died(ctx, b) {
			continue
		}
		if mark := filepath.Join(b.dir, poolMark); os.Rename(mark, mark+".swept") == nil {
			d.discard(ctx, b)
		}
	}
}

// died reports whether the guest of a warm box is certainly gone.
func (d *Manager) died(ctx context.Context, b *box) bool {
	if b.Bare {
		return false
	}
	_, err := d.dial(ctx, b)
	return fault.KindOf(err) == fault.Unavailable
}

// warm creates the missing containers of an environment.
func (d *Manager) warm(ctx context.Context, environment string, want int) error {
	l := d.language(environment)
	img, err := d.image(ctx, environment, l.Image)
	if err != nil {
		return err
	}
	d.removeOutdated(ctx, environment, d.fingerprint(img.ID, d.Network))
	for have := d.countWarm(environment, d.fingerprint(img.ID, d.Network)); have < want; have++ {
		b, err := d.create(ctx, l, img, Task{})
		if err == nil {
			d.pool.made[b.Box] = d.lockOf(b.Box)
			err = os.WriteFile(filepath.Join(b.dir, poolMark), nil, 0o600)
		}
		if err != nil {
			d.discard(ctx, b)
			return err
		}
	}
	return nil
}

// countWarm counts the usable containers in the pool.
func (d *Manager) countWarm(environment, fit string) (n int) {
	all, _ := d.boxes()
	for _, b := range all {
		if b.warm(environment, fit) {
			n++
		}
	}
	return n
}

func (b *box) warm(environment, fit string) bool {
	_, err := os.Lstat(filepath.Join(b.dir, poolMark))
	return err == nil && b.TaskUUID == "" && b.Environment == environment && b.Fit == fit
}

// WaitWarm waits until the pool is full.
func (d *Manager) WaitWarm(ctx context.Context) error {
	for {
		missing := false
		for name, want := range d.Warm {
			img, err := d.image(ctx, name, d.Images[name])
			if err != nil {
				return err
			}
			missing = missing || d.countWarm(name, d.fingerprint(img.ID, d.Network)) < want
		}
		if !missing {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// claim takes a container out of the pool, whoever filled it. Nil means that there is none.
func (d *Manager) claim(ctx context.Context, t Task, environment, image string) (*box, error) {
	all, err := d.boxes()
	if err != nil {
		return nil, err
	}
	fit := d.fingerprint(image, d.networkOf(t))
	for _, b := range all {
		if !b.warm(environment, fit) {
			continue
		}
		f, err := b.claim()
		if err != nil {
			continue // another process took it
		}
		if err := d.assign(ctx, b, f, t.ID); err != nil {
			d.discard(ctx, b)
			if fault.KindOf(err) == fault.Unavailable {
				continue // it died in the pool
			}
			return nil, err
		}
		return b, nil
	}
	return nil, nil
}

// claim takes a box out of the pool. It is locked first, so that it never looks abandoned.
func (b *box) claim() (*os.File, error) {
	f, err := b.lock()
	if err != nil {
		return nil, err
	}
	mark := filepath.Join(b.dir, poolMark)
	if err := os.Rename(mark, mark+".taken"); err != nil {
		f.Close()
		_ = os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// assign gives a warm container to a task.
func (d *Manager) assign(ctx context.Context, b *box, f *os.File, task string) error {
	b.TaskUUID, b.Name, b.Status, b.Created = task, Name(task), Initializing, time.Now().UTC()
	if err := d.recordOwner(b, f); err != nil {
		return err
	}
	d.wakePool()
	if err := d.linkTask(b); err != nil {
		return err
	}
	named := make(chan error, 1)
	go func() { named <- d.Engine.Rename(ctx, b.ContainerID, b.Name) }()
	err := d.checkAlive(ctx, b)
	rerr := <-named
	if err != nil || errors.Is(rerr, engine.ErrGone) {
		return &fault.Error{Kind: fault.Unavailable, Op: "take warm container", Err: errors.Join(err, rerr)}
	}
	return rerr
}

func (d *Manager) checkAlive(ctx context.Context, b *box) error {
	if b.Bare {
		return nil // the engine reports it when the container is renamed
	}
	c, err := d.client(ctx, b)
	if err != nil {
		return err
	}
	return c.Ping(ctx)
}

func (d *Manager) lockOf(id string) *os.File {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[id]
}

// wakePool triggers filling the pool.
func (d *Manager) wakePool() {
	select {
	case d.pool.wake <- struct{}{}:
	default:
	}
}
