package tasks

import (
	"cmp"
	"context"
	"time"

	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
)

// states are the last known states of tasks; nil means that they were not polled yet.
type states map[string]queue.State

// poll reports changes: of tasks that a worker has just taken or left at once, of all
// others by polling.
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

// maxPollShare is the fraction 1/n of the time that polling may take.
const maxPollShare = 10

// pause returns how long to wait for the next poll: longer if a poll takes long,
// because there are many tasks.
func (f *feed) pause(took time.Duration) time.Duration {
	return max(cmp.Or(f.Every, 500*time.Millisecond), (maxPollShare-1)*took)
}

func (f *feed) pollOne(ctx context.Context, last states, id string) {
	t, err := f.Queue.State(ctx, id)
	if err != nil || last == nil || last[id] == t.State {
		return // on an error the next poll shows it
	}
	last[id] = t.State
	f.changed(t)
}

// pollAll polls all tasks. What the first poll finds is not new. If the queue does not
// answer, nothing has changed.
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

// changed reports the state of a task, and why if it did not end well.
func (f *feed) changed(t queue.Entry) {
	s := dispatch.StatusOf(t)
	at := cmp.Or(s.Changed, time.Now().UTC()) // one that was not taken yet has no time
	f.readers.send(Step{Task: s.Thread, Time: at, Type: "state", Text: string(s.State)})
	if s.State.Final() && s.Why != "" {
		f.readers.send(Step{Task: s.Thread, Time: at, Type: "note", Text: s.Why})
	}
}
