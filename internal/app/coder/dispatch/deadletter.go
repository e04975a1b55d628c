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

// mostTold is how many dead tasks are looked at in a poll: each costs a few
// requests, and after a restart all of them may be looked at again.
const mostTold = 20

// failedKey is the key of the last comment of a task that failed, also of one
// that a coordinator gave up.
const failedKey = string(coder.Failed)

// An outcome is what came of telling people of a task that was given up.
type outcome int

const (
	untold outcome = iota
	told           // a label from now on is a new wish
	mute           // nobody can be told, as in a repository that was archived
)

// TellDead tells people of tasks that no worker came to an end with, and returns
// how many it told of. It can be called again and tells nobody twice.
func (p *Producer) TellDead(ctx context.Context, provider string) (n int, err error) {
	dead, err := p.Queue.Dead(ctx)
	if err != nil {
		return 0, err
	}
	p.forgetOthers(dead)
	dead = slices.DeleteFunc(dead, func(d queue.Task) bool {
		t, ok := taskOf(d)
		return !ok || t.Provider != provider || p.outcome(d) != untold
	})
	rand.Shuffle(len(dead), func(i, j int) {
		dead[i], dead[j] = dead[j],
			dead[i]
	}) // some that fail must not hide the others
	var errs []error
	for _, d := range dead[:min(len(dead), mostTold)] {
		fresh, err := p.tellOf(ctx, d)
		if errs = append(errs, err); fresh {
			n++
		}
	}
	return n, errors.Join(errs...)
}

// tellOf tells of one and remembers what came of it.
func (p *Producer) tellOf(ctx context.Context, d queue.Task) (fresh bool, err error) {
	t, _ := taskOf(d)
	e := Event{Type: "told", Provider: t.Provider, Thread: t.Thread(), Task: t.ID, Why: p.Secrets.Text(d.Reason)}
	switch fresh, err = p.tellOne(ctx, t, d); {
	case err == nil:
		p.came(t.ID, told)
	case refused(err):
		p.came(t.ID, mute)
		e.Type, e.Why, e.Err, err = "refused", p.Secrets.Text(err.Error()), err, nil
	default:
		return false, err
	}
	if fresh || e.Type == "refused" {
		p.tell(e)
	}
	return fresh, nil
}

// taskOf reads the task out of the queue's.
func taskOf(d queue.Task) (t coder.Task, ok bool) {
	return t, json.Unmarshal(d.Payload, &t) == nil && t.ID != ""
}

// ended reports whether people know already how a task ended: its worker died
// again and again, but after that.
func ended(d queue.Task) bool {
	var r coder.Record
	return json.Unmarshal(d.Step, &r) == nil && r.Phase == coder.Ended
}

// tellOne shows the state before it says why: the comment is what tells the next
// poll that all is done, and that a label from now on is a new wish.
func (p *Producer) tellOne(ctx context.Context, t coder.Task, d queue.Task) (fresh bool, err error) {
	f, err := p.ForgeClient.of(t.Provider)
	if err != nil || ended(d) || !f.takes(t.Repo) {
		return false, err
	}
	got, err := f.Get(ctx, refOf(t))
	if isGone(err) {
		return false, nil // there is nobody to tell
	}
	if err != nil {
		return false, err
	}
	keys, err := p.ForgeClient.said(ctx, f, t)
	said := slices.Contains(keys, failedKey)
	if err != nil || said && f.shows(got, coder.Pending) {
		return false, err
	}
	if !f.shows(got, coder.Failed) || f.shows(got, coder.Pending) {
		if err := p.ForgeClient.Show(ctx, t, coder.Failed); err != nil {
			return false, err
		}
	}
	if said {
		return false, nil
	}
	_, err = p.ForgeClient.Say(ctx, t, failedKey, "## Failed\n\nNo worker came to an end with it.\n\n"+
		coder.FitReason(p.Secrets, d.Reason)+
		"\n\nWhat can be done: put the label “"+f.label(coder.Pending)+"” on it again for another try.")
	return err == nil, err
}

// outcome is what came of telling people of a task. Of one that cannot be read
// there is nothing to tell.
func (p *Producer) outcome(d queue.Task) outcome {
	t, ok := taskOf(d)
	if !ok {
		return told
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead[t.ID]
}

func (p *Producer) came(id string, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead[id] = o
}

// forgetOthers keeps the memory as small as the list.
func (p *Producer) forgetOthers(dead []queue.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make(map[string]outcome, len(dead))
	for _, d := range dead {
		if t, ok := taskOf(d); ok && p.dead[t.ID] != untold {
			kept[t.ID] = p.dead[t.ID]
		}
	}
	p.dead = kept
}
