package dispatch

import (
	"slices"
	"testing"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// heard is what Hear returns, in short.
func (s *site) heard(t coder.Task, after string) (texts []string, last string) {
	s.Helper()
	all, err := s.client.Comments(s.Context(), t, after)
	s.fine(err)
	last = after
	for _, c := range all {
		texts, last = append(texts, c.Text), c.ID
	}
	return texts, last
}

func (s *site) task(kind coder.Kind, n int) coder.Task {
	return coder.Task{ID: "t1", Provider: s.provider, Repo: s.repo, Kind: kind, Number: n, Branch: "hako/t1",
		Target: "main"}
}

// Comments are heard once, whatever becomes of those that were heard before.
func TestHear(t *testing.T) {
	both(t, func(s *site) {
		n := s.issue(fake.Item{})
		task := s.task(coder.Issue, n)
		say := func(author, text string) int {
			return s.PostComment(s.repo, fake.Issue, n, fake.Comment{Author: author, Body: text})
		}
		say("ann", "one")
		second := say("stranger", "two")
		say(bot, "mine")
		all, err := s.client.Comments(s.Context(), task, "")
		s.fine(err)
		if len(all) != 3 || !all[0].Authorised || all[0].Own || all[1].Authorised || all[1].Author != "stranger" ||
			!all[2].Own || all[2].Authorised {
			s.Fatalf("heard %+v", all)
		}
		if texts, _ := s.heard(task, all[0].ID); !slices.Equal(texts, []string{"two", "mine"}) {
			s.Errorf("heard %q", texts)
		}
		s.Change(s.repo, fake.Issue, n, func(i *fake.Item) {
			i.Comments = slices.DeleteFunc(i.Comments, func(c fake.Comment) bool { return c.ID == second })
		})
		texts, last := s.heard(task, all[1].ID)
		if !slices.Equal(texts, []string{"mine"}) {
			s.Errorf("heard %q after one that is gone", texts)
		}
		if texts, _ := s.heard(task, last); len(texts) > 0 {
			s.Errorf("heard %q again", texts)
		}
		say("ann", "three")
		say("ann", "in the same second")
		s.Change(s.repo, fake.Issue, n, func(i *fake.Item) {
			c := i.Comments
			c[len(c)-1].Created, c[len(c)-1].Updated = c[len(c)-2].Created, c[len(c)-2].Updated
		})
		all, err = s.client.Comments(s.Context(), task, last)
		s.fine(err)
		if texts, _ := s.heard(task, all[0].ID); len(all) != 2 || !slices.Equal(texts, []string{"in the same second"}) {
			s.Errorf("heard %q", texts)
		}
		if texts, _ := s.heard(task, all[1].ID); len(texts) > 0 {
			s.Errorf("heard %q again", texts)
		}
		if texts, _ := s.heard(task, "nonsense"); len(texts) != 4 {
			s.Errorf("heard %q from the beginning", texts)
		}
	})
}

// Remarks say what they are about, also those of a review that was drafted
// before the last comment and sent after it.
func TestHearReview(t *testing.T) {
	both(t, func(s *site) {
		n := s.Add(s.repo, fake.Item{Kind: fake.Pull, Title: "x", Author: "ann", Branch: "topic"})
		task := s.task(coder.Pull, n)
		drafted := s.Now()
		s.PostComment(s.repo, fake.Pull, n, fake.Comment{Author: "ann", Body: "first"})
		_, last := s.heard(task, "")
		s.PostComment(s.repo, fake.Pull, n, fake.Comment{Author: "ann", Body: "rename it", Path: "a.go", Line: 7})
		if s.provider == forge.GitHub {
			s.Change(s.repo, fake.Pull, n, func(i *fake.Item) { i.Comments[1].Created = drafted })
		}
		all, err := s.client.Comments(s.Context(), task, last)
		if s.fine(err); len(all) != 1 || all[0].Text != "rename it" || all[0].On != "a.go:7" { // the place is no word of hers
			s.Errorf("heard %+v", all)
		}
	})
}

// Who may write is asked once in a while.
func TestTrust(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	for range 3 {
		s.PostComment(s.repo, fake.Issue, n, fake.Comment{Author: "ann", Body: "hello"})
	}
	s.heard(s.task(coder.Issue, n), "")
	s.heard(s.task(coder.Issue, n), "")
	if got := s.Count("GET", "permission"); got != 1 {
		t.Errorf("asked %d times", got)
	}
	s.client.PermissionTTL = time.Nanosecond
	s.client.permissions = nil
	s.heard(s.task(coder.Issue, n), "")
	if got := s.Count("GET", "permission"); got != 4 {
		t.Errorf("asked %d times", got)
	}
}

// Only an issue that is gone is not found.
func TestNotFound(t *testing.T) {
	both(t, func(s *site) {
		n := s.issue(fake.Item{})
		task := s.task(coder.Issue, n)
		calls := map[string]func() error{
			"say":  func() error { _, err := s.client.WriteComment(s.Context(), task, "a", "x"); return err },
			"hear": func() error { _, err := s.client.Comments(s.Context(), task, ""); return err },
			"show": func() error { return s.client.SetState(s.Context(), task, coder.Done) },
			"propose": func() error {
				_, err := s.client.OpenPullRequest(s.Context(), task, coder.Proposal{Title: "x"})
				return err
			},
		}
		paths := map[string]fake.Fault{"say": {Method: "POST"},
			"hear":    {Path: map[string]string{forge.GitHub: "comments", forge.GitLab: "notes"}[s.provider]},
			"show":    {Method: map[string]string{forge.GitHub: "POST", forge.GitLab: "PUT"}[s.provider]},
			"propose": {Method: "POST"}}
		for name, call := range calls {
			f := paths[name]
			f.Status, f.Message, f.Times = 404, "Not Found", 1
			if name == "say" {
				f.Times = 3
			}
			s.AddFault(f)
			if err := call(); fault.KindOf(err) != fault.Unavailable {
				s.Errorf("%s: %v (%v)", name, err, fault.KindOf(err))
			}
		}
		s.Delete(s.repo, fake.Issue, n)
		for _, name := range []string{"say", "hear", "show"} {
			if err := calls[name](); fault.KindOf(err) != fault.NotFound {
				s.Errorf("%s: %v (%v)", name, err, fault.KindOf(err))
			}
		}
	})
}

func TestUnknownForge(t *testing.T) {
	s := newSite(t, forge.GitHub)
	task := coder.Task{ID: "t1", Provider: "elsewhere"}
	_, err := s.client.WriteComment(t.Context(), task, "a", "x")
	if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
		t.Error(err)
	}
}

// Voices are forgotten when there are many; what they said is found again.
func TestVoicesAreBounded(t *testing.T) {
	s := newSite(t, forge.GitHub)
	n := s.issue(fake.Item{})
	task := s.task(coder.Issue, n)
	_, err := s.client.WriteComment(t.Context(), task, "progress", "one")
	s.fine(err)
	for i := range 3 * maxWriters {
		other := task
		other.ID = newID(coder.Issue, i)
		s.client.writer(&s.client.Forges[0], other)
	}
	if len(s.client.writers) > maxWriters {
		t.Errorf("%d voices", len(s.client.writers))
	}
	_, err = s.client.WriteComment(t.Context(), task, "progress", "two")
	s.fine(err)
	s.said(fake.Issue, n, "progress")
}

func TestRobot(t *testing.T) {
	for user, want := range map[string]bool{"ann": false, "renovate[bot]": true, "project_12_bot": true,
		"Group_3_bot_ab12": true, "project_manager": false, "robot": false} {
		if isBot(user) != want {
			t.Errorf("%s is a robot: %v", user, !want)
		}
	}
}
