package forge

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// TestList finds what has the label, whoever is in charge, and both kinds.
func TestList(t *testing.T) {
	both(t, func(w *world) {
		one := w.issue(fake.Item{Title: "テストが落ちる", Body: "一行目\r\n二行目\n", Author: "alice",
			Labels: []string{"coding agent", "bug"}, Assignees: []string{"hako-bot", "bob"}})
		w.issue(fake.Item{Title: "not for us"})
		w.issue(fake.Item{Title: "closed", Labels: []string{"coding agent"}, Closed: true})
		two := w.issue(fake.Item{Title: "nobody's", Labels: []string{"Coding Agent"}})
		pull := w.pull(fake.Item{Title: "review", Labels: []string{"coding agent"}, Assignees: []string{"Hako-Bot"},
			Branch: "topic/日本語"})
		got, err := w.List(w.ctx(), Query{Repo: w.repo, Label: "coding agent"})
		w.fine(err)
		w.refs(got, one, two, pull)
		first := got[0]
		if first.Title != "テストが落ちる" || first.Body != "一行目\n二行目\n" || first.Author != "alice" ||
			!slices.Equal(first.Labels, []string{"coding agent", "bug"}) ||
			!slices.Equal(first.Assignees, []string{"hako-bot", "bob"}) || first.CloneURL != w.URL+"/"+w.repo+".git" ||
			first.Provider != w.provider || first.Updated.IsZero() {
			t.Errorf("got %+v", first)
		}
		got, err = w.List(w.ctx(), Query{Repo: w.repo, Label: "coding agent", Assignee: "hako-bot"})
		w.fine(err)
		w.refs(got, one, pull)
		got, err = w.List(w.ctx(), Query{Repo: w.repo, Assignee: "bob"})
		w.fine(err)
		w.refs(got, one)
		got, err = w.List(w.ctx(), Query{Repo: w.repo, Label: "coding agent", Limit: 1})
		w.fine(err)
		w.refs(got, one)
	})
}

func (w *world) refs(got []Issue, want ...Ref) {
	w.Helper()
	var refs []Ref
	for _, t := range got {
		refs = append(refs, t.Ref())
	}
	if !slices.Equal(refs, want) {
		w.Errorf("got %v, want %v", refs, want)
	}
}

// TestListEverywhere asks for all repositories that the account takes part in.
// GitLab tells of public ones besides.
func TestListEverywhere(t *testing.T) {
	both(t, func(w *world) {
		w.Repo("other/lib")
		w.Member("other/lib", "hako-bot", "read")
		w.Repo("strange/place")
		for _, path := range []string{w.repo, "other/lib", "strange/place"} {
			w.Add(path, fake.Item{Kind: fake.Issue, Title: path, Labels: []string{"coding agent"},
				Assignees: []string{"hako-bot"}})
		}
		w.Add("other/lib", fake.Item{Kind: fake.Issue, Title: "somebody else's", Labels: []string{"coding agent"},
			Assignees: []string{"bob"}})
		got, err := w.List(w.ctx(), Query{Label: "coding agent", Assignee: "hako-bot"})
		w.fine(err)
		want := []Ref{{w.repo, KindIssue, 1}, {"other/lib", KindIssue, 1}}
		if w.provider == GitLab {
			want = append(want, Ref{"strange/place", KindIssue, 1})
		}
		w.refs(got, want...)
	})
}

// TestPoll reads ten thousand issues, and asks afterwards only whether they
// changed.
func TestPoll(t *testing.T) {
	both(t, func(w *world) {
		many := 10_000
		if testing.Short() {
			many = 1_000
		}
		body := strings.Repeat("some words that describe what is wrong\n", 5)
		for range many {
			w.issue(fake.Item{Title: "an issue", Body: body, Labels: []string{"coding agent"}})
		}
		fastest := time.Hour
		poll := func() []Issue {
			w.ClearRequests()
			start := time.Now()
			got, err := w.List(w.ctx(), Query{Repo: w.repo, Label: "coding agent"})
			w.fine(err)
			asked, unchanged := len(w.Requests()), 0
			for _, r := range w.Requests() {
				if r.Status == http.StatusNotModified {
					unchanged++
				}
			}
			t.Logf("%d tasks by %d requests, %d of them unchanged, in %v", len(got), asked, unchanged,
				time.Since(start).Round(time.Millisecond))
			if asked > many/100+10 {
				t.Errorf("it took %d requests", asked)
			}
			fastest = min(fastest, time.Since(start))
			return got
		}
		if got := poll(); len(got) != many || got[0].Number != 1 || got[many-1].Number != many {
			t.Fatalf("got %d tasks", len(got))
		}
		if got := poll(); len(got) != many {
			t.Fatalf("got %d tasks", len(got))
		}
		changed := 0
		for _, r := range w.Requests() {
			if r.Status == http.StatusOK {
				changed++
			}
		}
		if changed != 0 {
			t.Errorf("%d pages were sent although nothing changed", changed)
		}
		w.Change(w.repo, fake.Issue, many/2, func(i *fake.Item) { i.Labels = nil })
		if got := poll(); len(got) != many-1 {
			t.Errorf("got %d tasks after one was taken away", len(got))
		}
		if fastest > 5*time.Second && !raced { // the fastest: others may need the machine, too
			t.Errorf("it took %v", fastest)
		}
	})
}

// TestGet reads one issue and pull requests of a branch and of a fork.
func TestGet(t *testing.T) {
	both(t, func(w *world) {
		issue := w.issue(fake.Item{Title: "a"})
		got, err := w.Get(w.ctx(), issue)
		w.fine(err)
		if got.Ref() != issue || got.Closed || got.Branch != "" {
			t.Errorf("got %+v", got)
		}
		w.Change(w.repo, fake.Issue, issue.Number, func(i *fake.Item) { i.Closed = true })
		if got, err = w.Get(w.ctx(), issue); err != nil || !got.Closed {
			t.Errorf("got %+v, %v", got, err)
		}
		pull := w.pull(fake.Item{Title: "b", Branch: "topic", Target: "develop"})
		if got, err = w.Get(w.ctx(), pull); err != nil || got.Branch != "topic" || got.Target != "develop" || got.Fork ||
			got.CloneURL != w.URL+"/"+w.repo+".git" || got.Repo != w.repo {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Repo("mallory/app")
		forked := w.pull(fake.Item{Title: "c", Branch: "topic", From: "mallory/app"})
		if got, err = w.Get(w.ctx(), forked); err != nil || !got.Fork || got.CloneURL != w.URL+"/"+w.repo+".git" {
			t.Errorf("got %+v, %v", got, err)
		}
		lost := w.pull(fake.Item{Title: "its fork is gone", Branch: "topic", From: "nobody/app"})
		if got, err = w.Get(w.ctx(), lost); err != nil || !got.Fork {
			t.Errorf("got %+v, %v", got, err)
		}
		for _, name := range []string{"-upload-pack=evil", "a b", "a..b", "a\x07b", "x.lock", "a:b"} {
			hostile := w.pull(fake.Item{Title: "d", Branch: name})
			if got, err = w.Get(w.ctx(), hostile); err != nil || got.Branch != "" {
				t.Errorf("branch %q came as %q, %v", name, got.Branch, err)
			}
		}
	})
}

// TestDeleted is an issue that goes away in the middle.
func TestDeleted(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a", Labels: []string{"coding agent"}})
		_, err := w.Get(w.ctx(), ref)
		w.fine(err)
		w.Delete(w.repo, fake.Issue, ref.Number)
		voice := &CommentWriter{Forge: w.Forge, Ref: ref, Task: "t1"}
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.NotFound, ref.String(), "deleted")
		_, err = w.Comments(w.ctx(), ref, time.Time{})
		w.refuses(err, fault.NotFound)
		_, err = voice.Write(w.ctx(), "plan", "a plan")
		w.refuses(err, fault.NotFound)
		w.refuses(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "coding agent done"), fault.NotFound)
		w.refuses(w.ChangeLabels(w.ctx(), ref, []string{"x"}, nil), fault.NotFound)
	})
}

// TestLabels moves a task through its states beside the labels of people.
func TestLabels(t *testing.T) {
	both(t, func(w *world) {
		for _, ref := range []Ref{w.issue(fake.Item{Title: "a", Labels: []string{"bug", "Coding Agent", "優先度/高?"}}),
			w.pull(fake.Item{Title: "b", Branch: "x", Labels: []string{"bug", "coding agent", "優先度/高?"}})} {
			w.fine(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "coding agent processing"))
			w.labels(ref, "bug", "優先度/高?", "coding agent processing")
			w.Change(w.repo, string(ref.Kind), ref.Number, func(i *fake.Item) { i.Labels = []string{"bug"} }) // by a person
			w.fine(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "coding agent paused"))
			w.fine(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "coding agent paused"))
			w.labels(ref, "bug", "coding agent paused")
			w.fine(w.ChangeLabels(w.ctx(), ref, nil, []string{"bug", "never there"}))
			w.labels(ref, "coding agent paused")
			w.fine(w.ChangeLabels(w.ctx(), ref, []string{"a b", "c/d"}, []string{"coding agent paused"}))
			w.fine(w.ChangeLabels(w.ctx(), ref, nil, []string{"c/d"}))
			w.labels(ref, "a b")
			w.fine(w.ChangeLabels(w.ctx(), ref, nil, []string{"a b"}))
			w.labels(ref)
			w.refuses(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "done"), fault.Invalid, "coding agent done")
			w.refuses(w.ChangeLabels(w.ctx(), ref, []string{"a,b"}, nil), fault.Invalid, "comma")
		}
	})
}

func (w *world) labels(ref Ref, want ...string) {
	w.Helper()
	if got := w.item(ref).Labels; !slices.Equal(got, want) {
		w.Errorf("%v has %q, want %q", ref, got, want)
	}
}

// TestRace has a person take a label away just before hako does.
func TestRace(t *testing.T) {
	w := newWorld(t, GitHub)
	ref := w.issue(fake.Item{Title: "a", Labels: []string{"coding agent"}})
	w.AddFault(fake.Fault{Method: "DELETE", Path: "/labels/", Status: 404, Message: "Label does not exist", Done: true})
	w.fine(SetStateLabel(w.ctx(), w.Forge, ref, Labels{}, "coding agent processing"))
	w.labels(ref, "coding agent processing")
}

// TestMayWrite lets only those instruct who may push.
func TestMayWrite(t *testing.T) {
	both(t, func(w *world) {
		for login, right := range map[string]string{"reader": "read", "triager": "triage", "writer": "write",
			"keeper": "maintain", "owner": "admin", "writer2": "read"} {
			w.Member(w.repo, login, right)
		}
		w.User("stranger")
		if w.provider == GitLab {
			w.Member(w.repo, "banned", "blocked")
			w.Member(w.repo, "former", "expired")
		}
		for login, want := range map[string]bool{"reader": false, "triager": false, "writer": true, "keeper": true,
			"owner": true, "writer2": false, "stranger": false, "no-such-one": false,
			"": false, "..": false, "writer/../owner": false, "write": false, "dependabot[bot]": false, "banned": false,
			"former": false, "owner?x=1": false} {
			got, err := w.MayWrite(w.ctx(), w.repo, login)
			if err != nil || got != want {
				t.Errorf("%q: got %v, %v; want %v", login, got, err, want)
			}
		}
	})
}

// TestRenamed does not trust whoever got somebody's old name.
func TestRenamed(t *testing.T) {
	w := newWorld(t, GitHub)
	w.Member(w.repo, "alice", "admin")
	w.AddFault(fake.Fault{Path: "/collaborators/", Status: 200, Raw: `{"permission":"admin","user":{"login":"alice"}}`})
	if got, err := w.MayWrite(w.ctx(), w.repo, "old-alice"); got || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestRepository(t *testing.T) {
	both(t, func(w *world) {
		w.Private(w.repo)
		got, err := w.Forge.Repository(w.ctx(), w.repo)
		w.fine(err)
		if got != (Repository{Path: w.repo, Default: "main", CloneURL: w.URL + "/" + w.repo + ".git", Private: true}) {
			t.Errorf("got %+v", got)
		}
		_, err = w.Forge.Repository(w.ctx(), "acme/other")
		w.refuses(err, fault.NotFound, "acme/other")
		for _, bad := range []string{"", "acme", "acme/..", "../acme/app", "acme/a b", "acme/app?x=1", "acme/app#1",
			"acme//app", "acme/äpp", "a/" + strings.Repeat("b", 300)} {
			_, err = w.Forge.Repository(w.ctx(), bad)
			w.refuses(err, fault.Invalid)
		}
	})
}

// TestOpenOnce makes one draft, however often it is asked to.
func TestOpenOnce(t *testing.T) {
	both(t, func(w *world) {
		p := Draft{Repo: w.repo, Branch: "hako/1-修正", Target: "main", Title: "テストを直す\nsecond line", Body: "説明 closes #2",
			Closes: 1}
		one, made, err := EnsurePullRequest(w.ctx(), w.Forge, p)
		w.fine(err)
		if !made || !one.Draft || one.Branch != p.Branch || one.Target != "main" || one.Fork {
			t.Errorf("got %+v", one)
		}
		if got := w.item(one.Ref()).Body; got != "説明 c\u200closes #2\n\nCloses #1" {
			t.Errorf("its body is %q", got)
		}
		if want := map[string]string{GitHub: "テストを直す second line",
			GitLab: "Draft: テストを直す second line"}[w.provider]; one.Title != want {
			t.Errorf("its title is %q", one.Title)
		}
		two, made, err := EnsurePullRequest(w.ctx(), w.Forge, p)
		if err != nil || made || two.Number != one.Number {
			t.Errorf("again: %+v, %v, %v", two, made, err)
		}
		_, err = w.OpenPullRequest(w.ctx(), p)
		w.refuses(err, fault.Invalid, "already")
		w.Change(w.repo, fake.Pull, one.Number, func(i *fake.Item) { i.Closed = true })
		three, made, err := EnsurePullRequest(w.ctx(), w.Forge, p)
		if err != nil || !made || three.Number == one.Number {
			t.Errorf("after it was closed: %+v, %v, %v", three, made, err)
		}
		all, err := w.Forge.PullRequests(w.ctx(), w.repo, p.Branch)
		if err != nil || len(all) != 2 || all[0].Number != three.Number || !all[1].Closed {
			t.Errorf("got %+v, %v", all, err)
		}
		p.Branch = "-x"
		_, _, err = EnsurePullRequest(w.ctx(), w.Forge, p)
		w.refuses(err, fault.Invalid, "-x")
	})
}

// TestOpenLost has the answer get lost though the pull request was made.
func TestOpenLost(t *testing.T) {
	both(t, func(w *world) {
		w.AddFault(fake.Fault{Method: "POST", Status: 502, Done: true})
		got, made, err := EnsurePullRequest(w.ctx(), w.Forge, Draft{Repo: w.repo, Branch: "topic", Target: "main", Title: "a"})
		w.fine(err)
		if numbers := w.Items(w.repo, fake.Pull); len(numbers) != 1 || got.Number != numbers[0] || !made {
			t.Errorf("got %v, %v among %v", got.Number, made, numbers)
		}
	})
}

// TestForkIsNotOurs does not take a stranger's branch of the same name for ours.
func TestForkIsNotOurs(t *testing.T) {
	both(t, func(w *world) {
		w.Repo("acme/fork")
		w.pull(fake.Item{Title: "theirs", Branch: "topic", From: "acme/fork"})
		_, made, err := EnsurePullRequest(w.ctx(), w.Forge, Draft{Repo: w.repo, Branch: "topic", Target: "main", Title: "ours"})
		if err != nil || !made {
			t.Errorf("made %v, %v", made, err)
		}
	})
}

// TestMoved follows a repository that was renamed, also with what it says.
func TestMoved(t *testing.T) {
	w := newWorld(t, GitHub)
	ref := w.issue(fake.Item{Title: "a"})
	w.AddFault(fake.Fault{Path: "/repos/acme/old/", Status: http.StatusTemporaryRedirect, Times: -1, Raw: "x",
		Header: http.Header{"Location": {w.API() + "/repos/acme/app/issues/1/comments"}}})
	_, err := w.AddComment(w.ctx(), Ref{"acme/old", KindIssue, ref.Number}, Mark{}, "said")
	w.fine(err)
	w.bodies(ref, "said")
}

// TestNoDrafts opens an ordinary pull request where there are no drafts.
func TestNoDrafts(t *testing.T) {
	w := newWorld(t, GitHub)
	w.NoDrafts(w.repo)
	got, made, err := EnsurePullRequest(w.ctx(), w.Forge, Draft{Repo: w.repo, Branch: "topic", Target: "main", Title: "a"})
	if err != nil || !made || got.Draft {
		t.Errorf("got %+v, %v, %v", got, made, err)
	}
}

// TestNoBranch says what the forge says of a branch that was never pushed.
func TestNoBranch(t *testing.T) {
	both(t, func(w *world) {
		w.SetGitRoot(t.TempDir())
		if err := w.Seed(w.repo, map[string]string{"a": "1"}); err != nil {
			t.Skip(err)
		}
		_, _, err := EnsurePullRequest(w.ctx(), w.Forge, Draft{Repo: w.repo, Branch: "topic", Target: "main", Title: "a"})
		w.refuses(err, fault.Invalid, map[string]string{GitHub: "head is invalid", GitLab: "source_branch"}[w.provider])
		if n := w.Count("POST", ""); n != 1 {
			t.Errorf("it was asked for %d times", n)
		}
	})
}
