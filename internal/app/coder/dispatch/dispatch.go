// Package dispatch brings issues to workers and workers to issues.
//
// Inside are the producer, which finds on the forges what is wanted and puts it
// into the queue; the workers, which take it out and have it carried out; the
// client, by which a coordinator speaks with the forges; and the tools by which a
// model does. What is done for an issue is not known here, nor how a forge or a
// queue works.
//
// The rule to keep: a label of a forge is a wish, and only the queue says how a
// task is. A wish is read after the state that it is compared with, so that a
// move of our own is never taken for one of a person.
package dispatch

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/run/fault"
)

// A Forge is one that tasks come from.
type Forge struct {
	forge.Forge
	Provider     string       // forge.GitHub or forge.GitLab
	Labels       forge.Labels // empty ones mean their defaults
	Bot          string       // hako's account there; empty means asked
	NeedAssignee bool         // only what is assigned to hako is picked up; false means that the label is enough
	Repos        []string     // that are looked at; nil means all the account takes part in, which is refused for GitLab
}

// bot is the account by which hako is known.
func (f *Forge) bot(ctx context.Context) (string, error) {
	if f.Bot != "" {
		return f.Bot, nil
	}
	return f.CurrentUser(ctx)
}

// label is the name by which people see a state.
func (f *Forge) label(s coder.State) string {
	l := f.Labels.WithDefaults()
	return map[coder.State]string{coder.Pending: l.Ready, coder.Processing: l.Processing, coder.Done: l.Done,
		coder.Failed: l.Failed, coder.Paused: l.Paused, coder.Stopped: l.Stopped}[s]
}

// shows reports whether an issue has the label of a state.
func (f *Forge) shows(t forge.Issue, s coder.State) bool { return t.HasLabel(f.label(s)) }

// refOf names the issue of a task.
func refOf(t coder.Task) forge.Ref {
	return forge.Ref{Repo: t.Repo, Kind: forge.Kind(t.Kind), Number: t.Number}
}

// newTask is a try of an issue. Who may instruct and what is to be cloned is
// found out by whoever takes it, as is the text: it may be long, may change, and
// ten thousand of them would fill the queue.
func newTask(f *Forge, from forge.Issue, bot string) coder.Task {
	return coder.Task{ID: newID(coder.Kind(from.Kind), from.Number), Provider: f.Provider, Repo: from.Repo,
		Number: from.Number, Kind: coder.Kind(from.Kind),
		URL: from.URL, Title: from.Title, Author: from.Author, Assigned: from.AssignedTo(bot), Created: time.Now().UTC()}
}

// newID names a try: issue-12-k3j9x2ab. It becomes a part of names of
// containers, branches and marks, which not all take capital letters.
func newID(kind coder.Kind, number int) string {
	return fmt.Sprintf("%s-%d-%s", kind, number, strings.ToLower(rand.Text()[:10]))
}

// robot reports whether an account is one of a program: GitHub's Apps, and the
// access tokens of GitLab's projects and groups. What they write is data,
// whatever they may do.
func robot(user string) bool {
	user = strings.ToLower(user)
	for _, kind := range []string{"project_", "group_"} {
		if rest, ok := strings.CutPrefix(user, kind); ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "_bot") {
			return true
		}
	}
	return strings.HasSuffix(user, "[bot]")
}

// An Event is something that happens to tasks.
type Event struct {
	// Type is, of a producer: polled, picked, requeued, resumed, told, refused
	// (an issue that the queue does not take); of a worker: taken, ended, parked,
	// released, failed (it stays in the queue), waiting (for its next try, or for
	// a sign of whoever has it), lost, idle (nothing could be taken), work.
	Type     string
	Provider string
	Thread   string // of the issue
	Task     string // the try
	State    coder.State
	Phase    coder.Phase   // that it was in
	Try      int           // of the same task, from 1
	Duration time.Duration // of the poll, or since the task was taken
	Waited   time.Duration // from when it was picked up to when it was taken
	Wait     time.Duration // until the next try, or until the task is taken over; zero means not known, or never
	Worker   string        // who has the task that is waited for; empty means nobody
	Found    int           // how many issues are ready
	New      int           // how many of them were picked up, requeued or resumed
	Why      string        // without secrets
	Hint     string        // what can be done about it, without secrets
	Err      error         // with all that is to be known; not for people outside
	Spent    coder.Spent   // of a task that ended
	Proposal string        // the address of what it proposes; empty means nothing
	Work     *coder.Event  // of a task that is worked on
}

// retry is how long something that failed is left alone.
func retry(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// isGone reports whether an issue is not there, as opposed to not to be reached.
func isGone(err error) bool { return fault.KindOf(err) == fault.NotFound }

// forEachLimited calls a function for each element of a list, a limited number at a
// time, until one of the calls returns an error.
func forEachLimited[T any](ctx context.Context, list []T, limit int, do func(context.Context, T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slots := make(chan struct{}, limit)
	var wg sync.WaitGroup
	for _, one := range list {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, one); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
