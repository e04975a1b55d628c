package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	fake "hako/internal/fakes/forge"
	"hako/quota"
	"hako/run/fault"
)

// A roll is a queue that stands still.
type roll struct {
	tasks []queue.Entry
	whole map[string]queue.Entry // by ID; what is not there cannot be read
	err   error
}

func (r roll) List(context.Context) ([]queue.Entry, error) { return r.tasks, r.err }

func (r roll) State(_ context.Context, id string) (queue.Entry, error) {
	if t, ok := r.whole[id]; ok {
		return t, nil
	}
	return queue.Entry{}, errors.New("not now")
}

func taskAt(repo string, number int, kind coder.Kind, provider string) queue.Entry {
	t := coder.Task{ID: string(kind) + "-try", Provider: provider, Repo: repo, Number: number, Kind: kind,
		URL: "https://example.com/" + repo + "/issues/12", Title: "Broken"}
	text, _ := json.Marshal(t)
	return queue.Entry{Item: queue.Item{ID: t.Thread(), Payload: text}, State: queue.Queued}
}

func recorded(t queue.Entry, state queue.State, r coder.Record) queue.Entry {
	t.State = state
	t.Step, _ = json.Marshal(r)
	return t
}

// What programs read of hako agent status --json.
const standingJSON = `{"thread":"github/acme/app/issue/12","task":{"id":"issue-try","provider":"github","repo":"acme/app","number":12,"kind":"issue","url":"https://example.com/acme/app/issues/12","title":"Broken","author":""},` +
	`"state":"processing","phase":"execution","worker":"w1","try":2,"order":"pause","environment":"go","objective":"Mend it","count":{"turns":3,"actions":0,"errors":0,"since":0,"unknown_tools":0,"empty":0,"plans":0,"reflections":0,"pauses":0},` +
	`"tokens":30,"cost_usd":0.5,"why":"a reason","hint":"h","summary":"s","commit":"c","proposal":"p","changed":"2026-01-02T03:04:05Z"}`

func TestStanding(t *testing.T) {
	plan := &coder.Plan{Goal: coder.Goal{Objective: "Mend it"},
		Decomposition: coder.Decomposition{Subtasks: []coder.Part{{Text: "look"}, {Text: "mend"}}},
		Action:        coder.ActionPlan{Actions: []coder.Part{{Text: "other"}}}}
	q := recorded(taskAt("acme/app", 12, coder.Issue, "github"), queue.Held,
		coder.Record{State: coder.Processing, Phase: coder.Execution, Plan: plan, Environment: "go",
			Count: coder.Count{Turns: 3},
			Spent: coder.Spent{Usage: quota.Usage{Input: 10, Output: 5}, Cost: 0.5}, Hint: "h", Summary: "s", Commit: "c",
			Proposal: "p"})
	q.Holder, q.Tries, q.Order, q.Reason, q.Changed = "w1", 2, queue.Pause, "a reason",
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := StatusOf(q)
	if text, _ := json.Marshal(s); string(text) != standingJSON {
		t.Errorf("have %s\nwant %s", text, standingJSON)
	}
	if !slices.Equal(s.Steps, []string{"look", "mend"}) {
		t.Errorf("steps %q", s.Steps)
	}
	plan.Decomposition.Subtasks = nil
	if s := StatusOf(recorded(q, queue.Held, coder.Record{Plan: plan})); !slices.Equal(s.Steps, []string{"other"}) {
		t.Errorf("steps %q", s.Steps)
	}
}

func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		in   queue.State
		rec  coder.State
		want coder.State
	}{
		"waits":    {queue.Queued, "", coder.Pending},
		"again":    {queue.Queued, coder.Processing, coder.Pending},
		"held":     {queue.Held, coder.Done, coder.Processing}, // it is yet to be reported
		"parked":   {queue.Parked, coder.Paused, coder.Paused},
		"done":     {queue.Done, coder.Done, coder.Done},
		"failed":   {queue.Done, coder.Failed, coder.Failed},
		"stopped":  {queue.Done, coder.Stopped, coder.Stopped},
		"given up": {queue.Dead, coder.Processing, coder.Failed},
		"unsaid":   {queue.Done, "", coder.Done},
	} {
		if got := StatusOf(recorded(queue.Entry{}, c.in, coder.Record{State: c.rec})).State; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	odd := StatusOf(queue.Entry{Item: queue.Item{ID: "x", Payload: json.RawMessage(`"odd"`)}, Step: json.RawMessage(`[]`)})
	if odd.Thread != "x" || odd.Short() != "x" || odd.Count != nil {
		t.Errorf("%+v", odd)
	}
}

// A step that is too large for lists is fetched; one that cannot be fetched now
// does not keep the others from being shown.
func TestStandings(t *testing.T) {
	large, lost, fresh := taskAt("a/a", 1, coder.Issue, "github"), taskAt("a/b", 2, coder.Issue, "github"),
		taskAt("a/c", 3, coder.Issue, "github")
	large.State, lost.State = queue.Held, queue.Held
	from := roll{tasks: []queue.Entry{large, lost, fresh},
		whole: map[string]queue.Entry{large.ID: recorded(large, queue.Held, coder.Record{Phase: coder.Delivery}),
			fresh.ID: recorded(fresh, queue.Held, coder.Record{})}}
	all, err := Statuses(t.Context(), from)
	if err != nil || len(all) != 3 || all[0].Phase != coder.Delivery || all[1].Phase != "" ||
		all[1].State != coder.Processing || all[2].State != coder.Pending {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Statuses(t.Context(), roll{err: errors.New("down")}); err == nil {
		t.Error("a queue that is down is empty")
	}
}

func TestFind(t *testing.T) {
	issue, pull := taskAt("acme/app", 12, coder.Issue, "gitlab"), taskAt("acme/app", 7, coder.Pull, "gitlab")
	from := roll{tasks: []queue.Entry{issue, pull}}
	for name, want := range map[string]string{
		issue.ID: issue.ID, "ACME/app#12": issue.ID, "issue-try": issue.ID, "acme/app!7": pull.ID, "acme/app#7": pull.ID,
		"pull-try": pull.ID,
	} {
		if s, err := Find(t.Context(), from, name); err != nil || s.Thread != want {
			t.Errorf("%s: %s, %v", name, s.Thread, err)
		}
	}
	from.tasks = from.tasks[:1]
	if s, err := Find(t.Context(), from, "https://example.com/acme/app/issues/12/?x=1#note"); err != nil ||
		s.Thread != issue.ID {
		t.Errorf("%s, %v", s.Thread, err)
	}
	if _, err := Find(t.Context(), from, "acme/app#1"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	from.tasks = append(from.tasks, taskAt("acme/app", 12, coder.Issue, "github"))
	if _, err := Find(t.Context(), from, "acme/app#12"); fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "several") {
		t.Error(err)
	}
	if _, err := Find(t.Context(), roll{err: errors.New("down")}, "x"); fault.KindOf(err) == fault.NotFound || err == nil {
		t.Error(err)
	}
}

// Who orders something of a task that has ended is told how to begin it again.
func TestOrderOfWhatIsOver(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.Put(t.Context(), queue.Item{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := Order(t.Context(), q, "a", queue.Pause); err != nil {
		t.Error(err)
	}
	if err := Order(t.Context(), q, "a", "dance"); fault.KindOf(err) != fault.Invalid ||
		strings.Contains(fault.Hint(err), "label") {
		t.Errorf("%v: %s", err, fault.Hint(err))
	}
	l, err := q.Take(t.Context())
	if err != nil || l.Done(t.Context(), nil) != nil {
		t.Fatal(err)
	}
	if err := Order(t.Context(), q, "a", queue.Stop); fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(fault.Hint(err), "label") {
		t.Errorf("%v: %s", err, fault.Hint(err))
	}
}

// To people a task that was stopped is stopped, whatever the queue calls it.
func TestOrderOfWhatWasStopped(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	s.poll()
	s.fine(Order(t.Context(), s.queue, s.thread(fake.Issue, n), queue.Stop))
	s.only(coder.Stopped)
	for _, what := range []queue.Command{queue.Resume, queue.Stop} {
		err := Order(t.Context(), s.queue, s.thread(fake.Issue, n), what)
		if err == nil || !strings.HasSuffix(err.Error(), ": it has ended (stopped)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := Order(t.Context(), bare{s.queue}, s.thread(fake.Issue, n), queue.Stop); err == nil ||
		!strings.HasSuffix(err.Error(), ": it has ended") {
		t.Error(err)
	}
}

// bare is an orderly that knows nothing of tasks.
type bare struct{ Orderer }
