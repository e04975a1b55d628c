package tasks

import (
	"cmp"
	"context"
	"time"

	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
)

// states are how tasks were when they were looked at last; nil means never.
type states map[string]queue.State

// poll tells what has changed, again and again: of tasks that a worker has just
// taken or left at once, of all others now and then.
func (f *feed) poll(ctx context.Context) {
	var last states
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-f.changedIDs:
			f.pollOne(ctx, last, id)
		case <-timer.C:
			began := time.Now()
			last = f.pollAll(ctx, last)
			timer.Reset(f.pause(time.Since(began)))
		}
	}
}

// maxPollShare is which part of the time the queue is looked at, at most.
const maxPollShare = 10

// pause is how long to wait for the next look: longer where a look takes long,
// because there are many tasks.
func (f *feed) pause(took time.Duration) time.Duration {
	return max(cmp.Or(f.Every, 500*time.Millisecond), (maxPollShare-1)*took)
}

func (f *feed) pollOne(ctx context.Context, last states, id string) {
	t, err := f.Queue.State(ctx, id)
	if err != nil || last == nil || last[id] == t.State {
		return // what cannot be read now, the next look shows
	}
	last[id] = t.State
	f.changed(t)
}

// pollAll looks at all tasks. What the first look finds is not news. A queue that
// does not answer is as it was.
func (f *feed) pollAll(ctx context.Context, last states) states {
	all, err := f.Queue.List(ctx)
	if err != nil {
		return last
	}
	now, threads := make(states, len(all)), make(map[string]string, len(all))
	for _, t := range all {
		now[t.ID], threads[dispatch.StatusOf(t).Job.ID] = t.State, t.ID
		if last != nil && last[t.ID] != t.State {
			f.changed(dispatch.WithStep(ctx, f.Queue, t))
		}
	}
	f.readers.setThreads(threads)
	return now
}

// changed tells how a task is now, and why if it did not end well.
func (f *feed) changed(t queue.Entry) {
	s := dispatch.StatusOf(t)
	at := cmp.Or(s.Changed, time.Now().UTC()) // one that nobody has taken yet has no time
	f.readers.send(Step{Task: s.Thread, Time: at, Type: "state", Text: string(s.State)})
	if s.State.Final() && s.Why != "" {
		f.readers.send(Step{Task: s.Thread, Time: at, Type: "note", Text: s.Why})
	}
}
