package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// A stranger can make a project at GitLab in which our account is a member, and
// his issues are listed even if it is not.
func TestGitLabNeedsRepositories(t *testing.T) {
	s := newSite(t, forge.GitLab)
	s.Repo("mallory/pub")
	s.Member("mallory/pub", "mallory", "admin")
	s.Member("mallory/pub", bot, "write")
	s.Add("mallory/pub", fake.Item{Kind: fake.Issue, Author: "mallory", Labels: []string{"coding agent"}})
	if sum := s.poll(); sum != (PollResult{}) {
		t.Errorf("polled %+v", sum)
	}
	s.client.Forges[0].Repos = nil
	calls := map[string]func() error{
		"poll":  func() error { _, err := s.producer.Poll(t.Context()); return err },
		"run":   func() error { return s.producer.Run(t.Context()) },
		"work":  func() error { return s.worker.Run(t.Context()) },
		"drain": func() error { _, err := s.worker.Drain(t.Context()); return err },
	}
	for name, call := range calls {
		err := call()
		if fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(err.Error(), "whoever adds the account to a project could give it work") ||
			fault.Hint(err) != "name the projects in gitlab.repositories, or HAKO_GITLAB_REPOSITORIES" {
			t.Errorf("%s: %v (%s)", name, err, fault.Hint(err))
		}
	}
}

// Whatever is in the queue, a worker does nothing elsewhere, and says nothing.
func TestStrangeRepository(t *testing.T) {
	both(t, func(s *site) {
		s.client.Forges[0].Repos = []string{s.repo}
		s.Repo("mallory/pub")
		s.Member("mallory/pub", bot, "write")
		n := s.Add("mallory/pub", fake.Item{Kind: fake.Issue, Author: "mallory", Labels: []string{"coding agent"}})
		task := s.task(coder.Issue, n)
		task.Repo = "mallory/pub"
		payload, err := json.Marshal(task)
		s.fine(err)
		_, err = s.queue.Put(s.Context(), queue.Item{ID: task.Thread(), Kind: "issue", Payload: payload})
		s.fine(err)
		if e := s.only(coder.Stopped); !strings.Contains(e.Record.Why, "mallory/pub") || len(s.asked) > 0 ||
			s.Count("", "mallory") > 0 {
			s.Errorf("%s, %d asked, %v", e.Record.Why, len(s.asked), s.Requests())
		}
		if f := s.client.Forges[0]; !f.includes("Acme/App") || f.includes("acme/application") {
			s.Error("names are compared wrongly")
		}
	})
}

// elsewhere is a forge that finds a repository by its old name.
type elsewhere struct{ forge.Forge }

func (f elsewhere) List(context.Context, forge.Query) ([]forge.Issue, error) {
	return []forge.Issue{{Repo: "mallory/app", Kind: forge.KindIssue, Number: 1, Labels: []string{"coding agent"}}}, nil
}

func TestRenamedRepository(t *testing.T) {
	s := newSite(t, forge.GitLab)
	s.client.Forges[0].Forge = elsewhere{s.client.Forges[0].Forge}
	sum, err := s.producer.Poll(t.Context())
	if sum.Picked != 0 || fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "it is called mallory/app now") || fault.Hint(err) == "" {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A pull request that is not of somebody who may write, or would have us push to
// the default branch, is taken up on a branch of its own.
func TestPullOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		author, branch, bot string
		own                 bool // the branch is pushed to
	}{
		"default branch": {author: "ann", branch: "main"},
		"no rights":      {author: "stranger", branch: "topic"},
		"a program":      {author: "renovate[bot]", branch: "topic"},
		"ourselves":      {author: "hako[bot]", branch: "hako/issue-1-abc", bot: "hako[bot]", own: true},
		"a member":       {author: "ann", branch: "topic", own: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			s.client.Forges[0].Bot = c.bot
			s.Add(s.repo, fake.Item{Kind: fake.Pull, Title: "x", Author: c.author, Branch: c.branch, Target: "next",
				Labels: []string{"coding agent"}})
			s.poll()
			e := s.only(coder.Done)
			want, start, pulls := "hako/"+e.Task.ID, "refs/heads/"+c.branch, 2
			if c.own {
				want, start, pulls = c.branch, "", 1
			}
			task := s.tasks[0]
			if task.Branch != want || task.Start != start || task.Fork == c.own || task.Target != "next" ||
				len(s.Items(s.repo, fake.Pull)) != pulls || s.pushed[want] != fixed {
				t.Errorf("%+v, pushed %v", task, s.pushed)
			}
		})
	}
}

// moving is a forge whose pull requests get a new commit before each look.
type moving struct {
	forge.Forge
	looks atomic.Int64
}

func (f *moving) Get(ctx context.Context, ref forge.Ref) (forge.Issue, error) {
	t, err := f.Forge.Get(ctx, ref)
	t.Head = fmt.Sprintf("%040x", f.looks.Add(1))
	return t, err
}

// What is worked on is what was there when the task was taken, also for the
// worker that takes it over.
func TestHeadIsPinned(t *testing.T) {
	both(t, func(s *site) {
		s.client.Forges[0].Forge = &moving{Forge: s.client.Forges[0].Forge}
		s.Repo("stranger/app")
		s.Add(s.repo, fake.Item{Kind: fake.Pull, Title: "x", Author: "stranger", Branch: "topic", From: "stranger/app",
			Labels: []string{"coding agent"}})
		left := 2
		s.setHook(func(_ context.Context, place string) error {
			if left--; left >= 0 {
				return &fault.Error{Kind: fault.Unavailable, Op: place, Why: "it is away"}
			}
			return nil
		})
		s.poll()
		s.only(coder.Done)
		if s.count("taken") != 3 {
			s.Errorf("taken %d times", s.count("taken"))
		}
		for _, task := range s.tasks {
			if want := fmt.Sprintf("%040x", 1); task.Head != want {
				s.Errorf("it is at %q, want %q", task.Head, want)
			}
		}
	})
}

// Only who may write gives work, whatever the forge lets others do.
func TestWhoSetTheLabel(t *testing.T) {
	for name, c := range map[string]struct {
		author, by string
		hidden     bool   // the forge does not tell who it was
		why        string // empty means that it is worked on
	}{
		"triage":                  {author: "ann", by: "tim", why: "the label was set by tim, who has no write access"},
		"a member for a stranger": {author: "stranger", by: "ann"},
		"a program":               {author: "ann", by: "ci[bot]", why: "the label was set by ci[bot], which is a program"},
		"the author":              {author: "ann"},
		"hidden, of a member":     {author: "ann", by: "tim", hidden: true},
		"hidden, of a stranger": {author: "stranger", by: "ann", hidden: true,
			why: "the label was set by stranger, who has no write access"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(s *site) {
				s.Member(s.repo, "tim", "triage")
				s.Member(s.repo, "ci[bot]", "write")
				n := s.issue(fake.Item{Author: c.author, LabelledBy: c.by})
				if c.hidden {
					s.AddFault(fake.Fault{Path: "events", Status: 404, Message: "Not Found", Times: -1})
				}
				s.poll()
				if c.why == "" {
					s.only(coder.Done)
					return
				}
				s.only(coder.Stopped)
				s.labelled(fake.Issue, n, "coding agent stopped")
				s.said(fake.Issue, n, "stopped")
				if _, texts := s.comments(fake.Issue, n); !strings.HasPrefix(texts["stopped"], "Stopped: "+c.why) ||
					len(s.asked) > 0 {
					s.Errorf("said %q, %d asked", texts["stopped"], len(s.asked))
				}
				if c.hidden {
					return
				}
				s.label(n, "coding agent", "coding agent stopped") // by ann
				if sum := s.poll(); sum.Requeued != 1 {
					s.Errorf("polled %+v", sum)
				}
				s.only(coder.Done)
			})
		})
	}
}

// A forge that is away does not make the author the one who wants it.
func TestWhoSetTheLabelLater(t *testing.T) {
	s := newSite(t, forge.GitHub)
	s.Member(s.repo, "tim", "triage")
	s.issue(fake.Item{LabelledBy: "tim"})
	s.AddFault(fake.Fault{Path: "events", Status: 500, Times: 6})
	s.poll()
	s.only(coder.Stopped)
	if s.count("failed") == 0 {
		t.Error("it was not tried again")
	}
}

// What only members see is not worked on, as everybody would see that.
func TestConfidential(t *testing.T) {
	s := newSite(t, forge.GitLab)
	n := s.issue(fake.Item{Confidential: true})
	s.poll()
	s.only(coder.Stopped)
	s.labelled(fake.Issue, n, "coding agent stopped")
	s.said(fake.Issue, n, "stopped")
	if _, texts := s.comments(fake.Issue, n); !strings.Contains(texts["stopped"],
		"branches and merge requests would show it to everybody") || len(s.asked) > 0 {
		t.Errorf("said %q, %d asked", texts["stopped"], len(s.asked))
	}
}

func TestConfidentialMeanwhile(t *testing.T) {
	s := newSite(t, forge.GitLab)
	n := s.issue(fake.Item{})
	s.poll()
	s.meet("command", func() { s.Change(s.repo, fake.Issue, n, func(i *fake.Item) { i.Confidential = true }) })
	s.stopped(n)
}

// Models do not see what members alone see, nor are they told.
func TestConfidentialIsNotShown(t *testing.T) {
	s := newSite(t, forge.GitLab)
	n := s.issue(fake.Item{})
	hidden := s.issue(fake.Item{Confidential: true, Title: "zero-day"})
	s.PostComment(s.repo, fake.Issue, n, fake.Comment{Author: "ann", Body: "among us", Internal: true})
	s.PostComment(s.repo, fake.Issue, n, fake.Comment{Author: "ann", Body: "to all"})
	task := s.task(coder.Issue, n)
	tools := s.tools(task)
	var list []shownIssue
	if s.call(tools["forge_list_issues"], `{}`, &list); len(list) != 1 || list[0].Number != n {
		t.Errorf("%+v", list)
	}
	var one shownIssue
	if s.call(tools["forge_get_issue"], fmt.Sprintf(`{"number":%d}`, n), &one); len(one.Comments) != 1 ||
		one.Comments[0].Text != "to all" {
		t.Errorf("%+v", one)
	}
	if text, err := tools["forge_get_issue"].Call(t.Context(), fmt.Sprintf(`{"number":%d}`, hidden)); fault.KindOf(
		err) != fault.NotFound || strings.Contains(text+err.Error(), "zero-day") {
		t.Errorf("%s, %v", text, err)
	}
	texts, last := s.heard(task, "")
	if !slices.Equal(texts, []string{"to all"}) {
		t.Errorf("heard %q", texts)
	}
	if texts, _ := s.heard(task, last); len(texts) > 0 {
		t.Errorf("heard %q again", texts)
	}
}

// A label that nobody can take off begins a task once, whatever the forge says
// about it.
func TestLabelThatStays(t *testing.T) {
	for name, f := range map[string]fake.Fault{
		"not found": {Method: "DELETE", Status: 404, Message: "Label does not exist", Times: -1},
		"forbidden": {Path: "/labels", Status: 403, Message: "Must have triage rights", Times: -1},
		"no effect": {Method: "DELETE", Status: 200, Raw: "[]", Times: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, forge.GitHub)
			s.issue(fake.Item{})
			s.AddFault(f)
			for range 9 {
				s.producer = &Producer{ForgeClient: s.client, Queue: s.queue, Observe: s.observe} // which remembers nothing
				_, err := s.producer.Poll(t.Context())
				if fault.KindOf(err) != fault.Unavailable {
					s.fine(err)
				}
				s.drain()
			}
			if s.count("picked") != 1 || s.count("requeued") != 0 {
				t.Errorf("%d picked, %d requeued", s.count("picked"), s.count("requeued"))
			}
		})
	}
}

// Where nothing can be said, what is declined is over all the same.
func TestDeclinedInSilence(t *testing.T) {
	both(t, func(s *site) {
		s.Member(s.repo, "tim", "triage")
		n := s.issue(fake.Item{LabelledBy: "tim"})
		s.poll()
		s.archived()
		s.only(coder.Stopped)
		s.labelled(fake.Issue, n, "coding agent")
		if s.count("taken") != 1 || s.count("failed") != 0 {
			s.Errorf("%d taken, %d failed", s.count("taken"), s.count("failed"))
		}
		s.producer = &Producer{ForgeClient: s.client, Queue: s.queue}
		if sum := s.poll(); sum != (PollResult{Found: 1}) {
			s.Errorf("polled %+v", sum)
		}
	})
}

// Nobody is told of dead tasks in a repository that is not looked at any more.
func TestDeadInStrangeRepository(t *testing.T) {
	s := newSite(t, forge.GitHub)
	dead(s)
	s.client.Forges[0].Repos = []string{"acme/other"}
	s.ClearRequests()
	n, err := s.producer.ReportDead(t.Context(), forge.GitHub)
	if s.fine(err); n != 0 || len(s.Requests()) > 0 {
		t.Errorf("told of %d, %v", n, s.Requests())
	}
}
