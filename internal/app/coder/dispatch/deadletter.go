package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
)

// maxReported is how many dead tasks are reported in a poll: each costs a few requests,
// and after a restart all of them may be looked at again.
const maxReported = 20

// failedKey is the key of the last comment of a failed task, also of one that a
// coordinator gave up.
const failedKey = string(coder.Failed)

// A reportState says whether people were told about a dead task.
type reportState int

const (
	unreported   reportState = iota
	reported                 // a label set from now on is a new request
	unreportable             // it cannot be reported, as in an archived repository
)

// ReportDead reports tasks that no worker could finish on their issues, and returns how
// many it reported. It is idempotent.
func (p *Producer) ReportDead(ctx context.Context, provider string) (n int, err error) {
	dead, err := p.Queue.Dead(ctx)
	if err != nil {
		return 0, err
	}
	p.pruneReports(dead)
	dead = slices.DeleteFunc(dead, func(d queue.Entry) bool {
		t, ok := taskOf(d)
		return !ok || t.Provider != provider || p.reportState(d) != unreported
	})
	rand.Shuffle(len(dead), func(i, j int) { dead[i], dead[j] = dead[j], dead[i] }) // failures must not hide the others
	var errs []error
	for _, d := range dead[:min(len(dead), maxReported)] {
		fresh, err := p.reportOne(ctx, d)
		if errs = append(errs, err); fresh {
			n++
		}
	}
	return n, errors.Join(errs...)
}

// reportOne reports a task and remembers the result.
func (p *Producer) reportOne(ctx context.Context, d queue.Entry) (fresh bool, err error) {
	t, _ := taskOf(d)
	e := Event{Type: "told", Provider: t.Provider, Thread: t.Thread(), Task: t.ID, Why: p.Secrets.Text(d.Reason)}
	switch fresh, err = p.writeReport(ctx, t, d); {
	case err == nil:
		p.setReportState(t.ID, reported)
	case certainlyNotDone(err):
		p.setReportState(t.ID, unreportable)
		e.Type, e.Why, e.Err, err = "refused", p.Secrets.Text(err.Error()), err, nil
	default:
		return false, err
	}
	if fresh || e.Type == "refused" {
		p.observe(e)
	}
	return fresh, nil
}

// taskOf returns the task of an entry.
func taskOf(d queue.Entry) (t coder.Task, ok bool) {
	return t, json.Unmarshal(d.Payload, &t) == nil && t.ID != ""
}

// ended reports whether people know how a task ended: its worker died, but after it had
// reported.
func ended(d queue.Entry) bool {
	var r coder.Record
	return json.Unmarshal(d.Step, &r) == nil && r.Phase == coder.Ended
}

// writeReport sets the label before it comments: the comment shows the next poll that
// everything is done, and that a label from now on is a new request.
func (p *Producer) writeReport(ctx context.Context, t coder.Task, d queue.Entry) (fresh bool, err error) {
	f, err := p.ForgeClient.of(t.Provider)
	if err != nil || ended(d) || !f.includes(t.Repo) {
		return false, err
	}
	got, err := f.Get(ctx, refOf(t))
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	keys, err := p.ForgeClient.commentKeys(ctx, f, t)
	said := slices.Contains(keys, failedKey)
	if err != nil || said && f.hasLabel(got, coder.Pending) {
		return false, err
	}
	if !f.hasLabel(got, coder.Failed) || f.hasLabel(got, coder.Pending) {
		if err := p.ForgeClient.SetState(ctx, t, coder.Failed); err != nil {
			return false, err
		}
	}
	if said {
		return false, nil
	}
	_, err = p.ForgeClient.WriteComment(ctx, t, failedKey, "## Failed\n\nNo worker could finish it.\n\n"+
		coder.FitReason(p.Secrets, d.Reason)+
		"\n\nWhat can be done: put the label “"+f.label(coder.Pending)+"” on it again for another attempt.")
	return err == nil, err
}

// reportState returns whether a task was reported. An entry that cannot be read has
// nothing to report.
func (p *Producer) reportState(d queue.Entry) reportState {
	t, ok := taskOf(d)
	if !ok {
		return reported
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reports[t.ID]
}

func (p *Producer) setReportState(id string, o reportState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports[id] = o
}

// pruneReports removes tasks that are no longer dead.
func (p *Producer) pruneReports(dead []queue.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make(map[string]reportState, len(dead))
	for _, d := range dead {
		if t, ok := taskOf(d); ok && p.reports[t.ID] != unreported {
			kept[t.ID] = p.reports[t.ID]
		}
	}
	p.reports = kept
}
