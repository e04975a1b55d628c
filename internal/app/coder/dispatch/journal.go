package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

// A journal keeps the record of a task with its lease. It implements
// [coder.Journal].
type journal struct {
	lease *queue.Lease
	last  coder.Record // as it was saved, or as the coordinator left it
	wish  *time.Time   // when the label was set that it was taken for, zero if the forge has no such event; nil means not known
	head  string       // where somebody else's pull request was when it was taken; empty means that it is none, or not known
}

// A step is what the queue keeps of a task.
type step struct {
	coder.Record
	Wish *time.Time `json:"wish,omitempty"`
	Head string     `json:"head,omitempty"`
}

// read takes up what another worker has saved.
func (j *journal) read(text json.RawMessage) error {
	var s step
	err := json.Unmarshal(text, &s)
	j.last, j.wish, j.head = s.Record, s.Wish, s.Head
	return err
}

// Save implements [coder.Journal].
func (j *journal) Save(ctx context.Context, r coder.Record) error {
	text, err := json.Marshal(step{r, j.wish, j.head})
	if err != nil {
		return err
	}
	past := func(effect string) bool { return r.Pending == nil && coder.CallBefore(effect, r.Count.Turns) }
	if err := j.lease.Advance(ctx, text, past); err != nil {
		return lost(err)
	}
	j.last = r
	return nil
}

// short is the record of a task that has ended, without what only a worker needs
// to go on: the queue keeps it for weeks.
func (j *journal) short() json.RawMessage {
	r := j.last
	r.Items, r.Pending, r.Statement, r.Request, r.Same, r.Tools = nil, nil, "", "", nil, nil
	text, err := json.Marshal(step{Record: r, Wish: j.wish})
	if err != nil {
		return nil
	}
	return text
}

// Once implements [coder.Journal]. What was begun before without a word about how
// it ended is done again: the function is told, and finds what it did.
func (j *journal) Once(ctx context.Context, key string, do func(ctx context.Context, again bool) (string, error)) (
	string, error) {
	ref, err := j.lease.Once(ctx, key, func(ctx context.Context, again bool) (string, error) {
		ref, err := do(ctx, again)
		if err != nil && refused(err) {
			err = queue.Undone(err)
		}
		return ref, err
	})
	return ref, lost(err)
}

// refused reports whether something certainly did not happen.
func refused(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Other:
		return false
	}
	return true
}

// lost makes of the queue's word that the task is somebody else's that of the
// coordinator.
func lost(err error) error {
	if errors.Is(err, queue.ErrFenced) {
		return &fault.Error{Kind: fault.Denied, Op: "hold task", Err: coder.ErrLost}
	}
	return err
}

// A fencedClient is one that a worker uses for a task while the task is its
// own. A process that was asleep for a minute would otherwise say once more what
// the next worker has said.
type fencedClient struct {
	*ForgeClient
	lease *queue.Lease
}

// Say implements [coder.Commenter].
func (f fencedClient) Say(ctx context.Context, t coder.Task, key, text string) (string, error) {
	if err := f.lease.Beat(ctx); err != nil {
		return "", lost(err)
	}
	return f.ForgeClient.Say(ctx, t, key, text)
}

// Show implements [coder.Publisher].
func (f fencedClient) Show(ctx context.Context, t coder.Task, s coder.State) error {
	if err := f.lease.Beat(ctx); err != nil {
		return lost(err)
	}
	return f.ForgeClient.Show(ctx, t, s)
}

// Propose implements [coder.Publisher].
func (f fencedClient) Propose(ctx context.Context, t coder.Task, p coder.Proposal) (string, error) {
	if err := f.lease.Beat(ctx); err != nil {
		return "", lost(err)
	}
	return f.ForgeClient.Propose(ctx, t, p)
}
