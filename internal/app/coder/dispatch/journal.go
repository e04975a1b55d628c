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

// A journal saves the record of a task with its lease. It implements [coder.Journal].
type journal struct {
	lease *queue.Lease
	last  coder.Record // as it was saved, or as the coordinator left it
	// labeledAt is when the label was set that the task was taken for. Zero means that
	// the forge has no such event, nil that it is unknown.
	labeledAt *time.Time
	// head is the commit of somebody else's pull request when it was taken; empty means
	// none, or unknown.
	head string
}

// A step is what the queue stores of a task.
type step struct {
	coder.Record
	LabeledAt *time.Time `json:"wish,omitempty"`
	Head      string     `json:"head,omitempty"`
}

// read reads what another worker saved.
func (j *journal) read(text json.RawMessage) error {
	var s step
	err := json.Unmarshal(text, &s)
	j.last, j.labeledAt, j.head = s.Record, s.LabeledAt, s.Head
	return err
}

// Save implements [coder.Journal].
func (j *journal) Save(ctx context.Context, r coder.Record) error {
	text, err := json.Marshal(step{r, j.labeledAt, j.head})
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

// short is the record of a task that has ended, without what only a worker needs: the
// queue keeps it for weeks.
func (j *journal) short() json.RawMessage {
	r := j.last
	r.Items, r.Pending, r.Statement, r.Request, r.Same, r.Tools = nil, nil, "", "", nil, nil
	text, err := json.Marshal(step{Record: r, LabeledAt: j.labeledAt})
	if err != nil {
		return nil
	}
	return text
}

// Once implements [coder.Journal].
func (j *journal) Once(ctx context.Context, key string, do func(ctx context.Context, again bool) (string, error)) (
	string, error) {
	ref, err := j.lease.Once(ctx, key, func(ctx context.Context, again bool) (string, error) {
		ref, err := do(ctx, again)
		if err != nil && certainlyNotDone(err) {
			err = queue.Undone(err)
		}
		return ref, err
	})
	return ref, lost(err)
}

// certainlyNotDone reports whether an error means that something did not happen.
func certainlyNotDone(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.Other:
		return false
	}
	return true
}

// lost translates the queue's error for a lost lease.
func lost(err error) error {
	if errors.Is(err, queue.ErrFenced) {
		return &fault.Error{Kind: fault.Denied, Op: "hold task", Err: coder.ErrLost}
	}
	return err
}

// A fencedClient writes to the forge only while the worker holds the lease. A process
// that was suspended for a minute would otherwise repeat what the next worker wrote.
type fencedClient struct {
	*ForgeClient
	lease *queue.Lease
}

// WriteComment implements [coder.Commenter].
func (f fencedClient) WriteComment(ctx context.Context, t coder.Task, key, text string) (string, error) {
	if err := f.lease.Renew(ctx); err != nil {
		return "", lost(err)
	}
	return f.ForgeClient.WriteComment(ctx, t, key, text)
}

// SetState implements [coder.Publisher].
func (f fencedClient) SetState(ctx context.Context, t coder.Task, s coder.State) error {
	if err := f.lease.Renew(ctx); err != nil {
		return lost(err)
	}
	return f.ForgeClient.SetState(ctx, t, s)
}

// OpenPullRequest implements [coder.Publisher].
func (f fencedClient) OpenPullRequest(ctx context.Context, t coder.Task, p coder.Proposal) (string, error) {
	if err := f.lease.Renew(ctx); err != nil {
		return "", lost(err)
	}
	return f.ForgeClient.OpenPullRequest(ctx, t, p)
}
