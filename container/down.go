package container

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"hako/container/engine"
	"hako/run/fault"
)

// grace is how long processes in a container get to end by themselves.
const grace = 10 * time.Second

const maxRemovals = 3

// Cleanup removes the container of a task and everything that belongs to it. Processes get ten seconds to end by
// themselves.
func (d *Manager) Cleanup(ctx context.Context, task string) error {
	if err := CheckTask(task); err != nil {
		return err
	}
	done, err := d.record(task, "environment down")
	if err != nil {
		return err
	}
	err = d.cleanup(ctx, task)
	done(err)
	return err
}

func (d *Manager) cleanup(ctx context.Context, task string) error {
	lock, err := d.lockTask(ctx, task)
	if err != nil {
		return err
	}
	defer lock.Close()
	b, err := d.find(task)
	if err == nil {
		d.shutDownGuest(ctx, b)
		err = d.remove(ctx, b)
	}
	if err == nil || fault.KindOf(err) == fault.NotFound {
		_ = os.Remove(lock.Name()) // processes that wait for it detect that
	}
	return err
}

// CleanupAll removes the containers that this process owns, several at a time: each may take its ten seconds.
func (d *Manager) CleanupAll(ctx context.Context) error {
	all, err := d.boxes()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	places := make(chan struct{}, 8)
	for i, b := range all {
		if !d.holds(b.Box) {
			continue
		}
		// A container that another process takes out of our pool belongs to that process.
		if b.Owner != self() || b.TaskUUID == "" && !b.takeFromPool() {
			d.release(b.Box)
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			d.shutDownGuest(ctx, b)
			errs[i] = d.remove(ctx, b)
			<-places
		})
	}
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

func (d *Manager) holds(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[id] != nil
}

// shutDownGuest asks the processes of a container to end, and waits for that.
func (d *Manager) shutDownGuest(ctx context.Context, b *box) {
	ctx, cancel := context.WithTimeout(ctx, grace+2*time.Second)
	defer cancel()
	c, err := d.client(ctx, b)
	if err != nil || c.Shutdown(ctx) != nil {
		return
	}
	select {
	case <-c.Gone():
	case <-ctx.Done():
	}
}

// remove removes the container of a box and then its folder. If that fails, the record stays.
func (d *Manager) remove(ctx context.Context, b *box) error {
	d.closeConn(b.Box)
	d.forgetKept(b.Box)
	b.Doomed, b.Status = true, Stopped
	_ = b.save() // if the record cannot be written, the lock still marks the box
	var err error
	for try := range maxRemovals {
		if err = d.removeEach(ctx, b); err == nil {
			return d.removeFolder(b)
		}
		if fault.KindOf(err) == fault.Unavailable || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Duration(try+1) * 200 * time.Millisecond)
	}
	b.Warnings = []string{"it could not be removed: " + oneLine(err.Error())}
	_ = b.save()
	return &fault.Error{Kind: fault.KindOf(err), Op: "remove", Subject: b.Name, Err: err,
		Hint: "it stays on record; hako env prune tries again"}
}

// removeEach removes the containers of a box. The engine may still be creating one for a caller that was killed or
// did not wait, so it looks again for half a second.
func (d *Manager) removeEach(ctx context.Context, b *box) error {
	err := d.removeContainer(ctx, b)
	for try := 0; err == nil && b.ContainerID == "" && !b.unmade && try < 10; try++ {
		time.Sleep(50 * time.Millisecond)
		err = d.removeContainer(ctx, b)
	}
	return err
}

// removeContainer removes every container with the label of a box, also those that were never recorded.
func (d *Manager) removeContainer(ctx context.Context, b *box) error {
	all, err := d.Engine.List(ctx, map[string]string{labelState: d.id, labelBox: b.Box})
	if err != nil {
		return err
	}
	for _, c := range all {
		if rerr := d.Engine.Remove(ctx, c.ID); rerr != nil {
			err = rerr
		}
	}
	if err != nil {
		return err
	}
	return d.removeVolumes(ctx, map[string]string{labelState: d.id, labelBox: b.Box}, func(string) bool { return true })
}

// removeVolumes removes unused volumes. They normally go with their container.
func (d *Manager) removeVolumes(ctx context.Context, labels map[string]string, unwanted func(box string) bool) error {
	all, err := d.Engine.Volumes(ctx, labels)
	for _, v := range all {
		if !unwanted(v.Labels[labelBox]) {
			continue
		}
		if rerr := d.Engine.RemoveVolume(ctx, v.Name); rerr != nil && !errors.Is(rerr, engine.ErrConflict) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
