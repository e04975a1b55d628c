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

// grace is what processes in a container get to end by themselves.
const grace = 10 * time.Second

// maxRemovals is how often it is tried to remove a container.
const maxRemovals = 3

// Cleanup removes the container of a task with all that belongs to it. Processes
// get ten seconds to end by themselves.
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
	turn, err := d.lockTask(ctx, task)
	if err != nil {
		return err
	}
	defer turn.Close()
	b, err := d.find(task)
	if err == nil {
		d.shutDownGuest(ctx, b)
		err = d.remove(ctx, b)
	}
	if err == nil || fault.KindOf(err) == fault.NotFound {
		_ = os.Remove(turn.Name()) // who waits for it notices
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
		// What another process takes out of our pool is its own.
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

// remove removes the container of a box and then its folder. What could not be removed stays on record.
func (d *Manager) remove(ctx context.Context, b *box) error {
	d.closeConn(b.Box)
	d.forgetKept(b.Box)
	b.Doomed, b.Status = true, Stopped
	_ = b.save() // of what cannot be noted down the lock tells
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

// removeEach removes what was made for a box. The engine may still be busy with what was asked for by somebody who
// was killed, or did not wait: such a box is watched a little.
func (d *Manager) removeEach(ctx context.Context, b *box) error {
	err := d.removeContainer(ctx, b)
	for try := 0; err == nil && b.ContainerID == "" && !b.unmade && try < 10; try++ {
		time.Sleep(50 * time.Millisecond)
		err = d.removeContainer(ctx, b)
	}
	return err
}

// removeContainer removes every container that was made for a box: of one that
// nobody got to note down the label tells.
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

// removeVolumes removes volumes that nobody uses. They go with their container,
// unless that was removed by somebody who did not say so.
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
