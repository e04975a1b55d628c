// Package dispatch queues issues as tasks and assigns them to workers.
//
// The [Producer] polls the forges and puts tasks into the queue. A [Worker] takes tasks
// out of the queue and has a coordinator carry them out. The [ForgeClient] is the
// coordinator's access to the forges, with the tools that a model gets. How a task is
// carried out is the coordinator's business.
//
// A label at a forge is a desired state; the state of a task is what the queue says. A
// desired state is read after the state it is compared with, so that a label that hako
// set itself is never taken for one of a person.
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
	Bot          string       // hako's account there; empty means that the forge is asked
	NeedAssignee bool         // only issues assigned to hako are picked up; false means that the label is enough
	Repos        []string     // that are polled; nil means all the account takes part in, which is refused for GitLab
}

// bot returns hako's account.
func (f *Forge) bot(ctx context.Context) (string, error) {
	if f.Bot != "" {
		return f.Bot, nil
	}
	return f.CurrentUser(ctx)
}

// label returns the label of a state.
func (f *Forge) label(s coder.State) string {
	l := f.Labels.WithDefaults()
	return map[coder.State]string{coder.Pending: l.Ready, coder.Processing: l.Processing, coder.Done: l.Done,
		coder.Failed: l.Failed, coder.Paused: l.Paused, coder.Stopped: l.Stopped}[s]
}

// hasLabel reports whether an issue has the label of a state.
func (f *Forge) hasLabel(t forge.Issue, s coder.State) bool { return t.HasLabel(f.label(s)) }

// refOf returns the reference of a task's issue.
func refOf(t coder.Task) forge.Ref {
	return forge.Ref{Repo: t.Repo, Kind: forge.Kind(t.Kind), Number: t.Number}
}

// newTask makes a task of an issue. The worker reads the text, the permissions and the
// clone URL later: they may change, and the texts of ten thousand issues would fill the
// queue.
func newTask(f *Forge, from forge.Issue, bot string) coder.Task {
	return coder.Task{ID: newID(coder.Kind(from.Kind), from.Number), Provider: f.Provider, Repo: from.Repo,
		Number: from.Number, Kind: coder.Kind(from.Kind),
		URL: from.URL, Title: from.Title, Author: from.Author, Assigned: from.AssignedTo(bot), Created: time.Now().UTC()}
}

// newID returns the ID of a task, such as issue-12-k3j9x2ab. It becomes a part of the
// names of containers, branches and marks, some of which must be lower case.
func newID(kind coder.Kind, number int) string {
	return fmt.Sprintf("%s-%d-%s", kind, number, strings.ToLower(rand.Text()[:10]))
}

// isBot reports whether an account belongs to a program: GitHub Apps, and the access
// tokens of GitLab's projects and groups. What they write is data, whatever their
// permissions.
func isBot(user string) bool {
	user = strings.ToLower(user)
	for _, kind := range []string{"project_", "group_"} {
		if rest, ok := strings.CutPrefix(user, kind); ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "_bot") {
			return true
		}
	}
	return strings.HasSuffix(user, "[bot]")
}

// An Event is something that happened to tasks.
type Event struct {
	// Type is, of a producer: polled, picked, requeued, resumed, told, refused (the
	// queue does not accept the issue); of a worker: taken, ended, parked, released,
	// failed (it stays in the queue), waiting (for its next attempt, or for a sign of
	// its holder), lost, idle (nothing could be taken), work.
	Type     string
	Provider string
	Thread   string // of the issue
	Task     string // ID
	State    coder.State
	Phase    coder.Phase   // at that time
	Attempt  int           // of the same task, from 1
	Duration time.Duration // of the poll, or since the task was taken
	Waited   time.Duration // from when it was picked up to when it was taken
	Wait     time.Duration // until the next attempt, or until the task is taken over; zero means unknown, or never
	Worker   string        // that holds the task; empty means none
	Found    int           // number of ready issues
	New      int           // how many of them were picked up, requeued or resumed
	Why      string        // without secrets
	Hint     string        // what to do about it, without secrets
	Err      error         // in full; not for people outside
	Spent    coder.Spent   // by a task that ended
	Proposal string        // URL of the pull request; empty means none
	Work     *coder.Event  // of a running task
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// isNotFound reports whether an issue does not exist, as opposed to being unreachable.
func isNotFound(err error) bool { return fault.KindOf(err) == fault.NotFound }

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
