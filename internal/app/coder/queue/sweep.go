package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	sweepEvery  = 24 * time.Hour
	minStrayAge = 24 * time.Hour // of a blob that is removed if no record refers to it
)

// sweepDaily sweeps once a day, in whichever process. The first check comes late enough
// that short commands take no part.
func (q *Queue) sweepDaily() {
	for {
		if q.sleep(q.ctx, 5*time.Minute+rand.N(time.Hour)) != nil {
			return
		}
		if due, err := q.sweepDue(q.ctx, time.Now()); err == nil && due {
			_ = q.sweep(q.ctx, minStrayAge) // the rest is swept tomorrow
		}
	}
}

// sweepDue reports whether it is on us to sweep today.
func (q *Queue) sweepDue(ctx context.Context, now time.Time) (due bool, err error) {
	err = q.KeyValue("queue").Change(ctx, "swept", func(value []byte) ([]byte, error) {
		last, _ := time.Parse(time.RFC3339Nano, string(value))
		if due = now.Sub(last) >= sweepEvery; !due {
			return nil, nil
		}
		return []byte(now.UTC().Format(time.RFC3339Nano)), nil
	})
	return due, err
}

// sweep removes the blobs that no record refers to: those of workers that died or lost
// their lease, and those of expired records. Young ones stay: a record may be about to
// refer to them.
func (q *Queue) sweep(ctx context.Context, age time.Duration) error {
	tasks, err := q.blobNames(ctx)
	for task, names := range tasks {
		v, rerr := q.readKey(ctx, task)
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		used := v.blobs()
		for _, name := range names {
			if used[name] == nil {
				err = errors.Join(err, q.removeOld(ctx, task, name, age))
			}
		}
	}
	return err
}

// blobNames lists the blobs of each task.
func (q *Queue) blobNames(ctx context.Context) (map[string][]string, error) {
	info, err := q.blobs.Info(ctx, jetstream.WithSubjectFilter(q.blobSubject("*", "*", "0")))
	if err != nil {
		return nil, err
	}
	tasks := map[string][]string{}
	for subject := range info.State.Subjects {
		if words := strings.Split(subject, "."); len(words) == 5 {
			tasks[words[2]] = append(tasks[words[2]], words[3])
		}
	}
	return tasks, nil
}

func (q *Queue) removeOld(ctx context.Context, task, name string, age time.Duration) error {
	m, err := q.blobs.GetLastMsgForSubject(ctx, q.blobSubject(task, name, "0"))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil // removed meanwhile
	case err != nil || time.Since(m.Time) < age:
		return err
	}
	return q.removeBlob(ctx, task, name)
}
