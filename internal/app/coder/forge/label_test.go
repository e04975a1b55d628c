package forge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// Who set a label last is known, however often others were set.
func TestWhoLabelled(t *testing.T) {
	both(t, func(w *world) {
		for _, kind := range []Kind{KindIssue, KindPullRequest} {
			ref := Ref{w.repo, kind,
				w.Add(w.repo, fake.Item{Kind: string(kind), Branch: "topic", Labels: []string{"ready"}, LabelledBy: "ann"})}
			who := func(label, want string) {
				w.Helper()
				by, at, err := w.LabeledBy(w.ctx(), ref, label)
				if w.fine(err); by != want || at.IsZero() != (want == "") {
					w.Errorf("%s was set by %q at %v, want %q", label, by, at, want)
				}
			}
			who("Ready", "ann")
			who("other", "")
			for n := range 250 {
				w.ChangeBy("mallory", w.repo, string(kind), ref.Number,
					func(i *fake.Item) { i.Labels = append(i.Labels, fmt.Sprint("noise", n)) })
			}
			who("ready", "ann")
			w.ChangeBy("bob", w.repo, string(kind), ref.Number, func(i *fake.Item) { i.Labels = nil })
			who("ready", "ann")
			w.ChangeBy("bob", w.repo, string(kind), ref.Number, func(i *fake.Item) { i.Labels = []string{"READY"} })
			who("ready", "bob")
			w.fine(w.ChangeLabels(w.ctx(), ref, []string{"other"}, nil))
			who("other", "hako-bot")
		}
		_, _, err := w.LabeledBy(w.ctx(), Ref{w.repo, KindIssue, 99}, "ready")
		w.refuses(err, fault.NotFound)
	})
}

// Of more events than are looked at nobody knows the last.
func TestTooManyLabellings(t *testing.T) {
	asked := 0
	_, err := allPages(func(page int) ([]*labelEvent, int, error) {
		asked++
		return []*labelEvent{{int64(page), "ready", "ann", time.Now()}}, page + 1, nil
	})
	if err == nil || asked != maxPages {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// A label that the forge says is not there, and is, was not taken off.
func TestLabelStays(t *testing.T) {
	w := newWorld(t, GitHub)
	ref := w.issue(fake.Item{Title: "a", Labels: []string{"ready"}})
	w.AddFault(fake.Fault{Method: "DELETE", Status: 404, Message: "Label does not exist", Times: 2})
	w.refuses(w.ChangeLabels(w.ctx(), ref, []string{"done"}, []string{"ready"}), fault.Unavailable, "ready", "still there")
	w.refuses(w.ChangeLabels(w.ctx(), ref, nil, []string{"ready"}), fault.Unavailable, "still there")
	w.fine(w.ChangeLabels(w.ctx(), ref, nil, []string{"ready"}))
	w.Change(w.repo, fake.Issue, ref.Number, func(i *fake.Item) { i.Labels = []string{"ready"} })
	w.AddFault(fake.Fault{Method: "DELETE", Status: 404, Message: "Label does not exist", Done: true}) // a person was faster
	w.fine(w.ChangeLabels(w.ctx(), ref, nil, []string{"ready"}))
}

// GitLab's answer has the labels that there are.
func TestLabelStaysAtGitLab(t *testing.T) {
	w := newWorld(t, GitLab)
	for kind, sign := range map[Kind]string{KindIssue: "#", KindPullRequest: "!"} {
		ref := Ref{w.repo, kind, w.Add(w.repo, fake.Item{Kind: string(kind), Branch: "topic", Labels: []string{"ready"}})}
		w.AddFault(fake.Fault{Method: "PUT", Status: 200, Raw: `{"iid":1,"labels":["ready"],"references":{"full":"` + w.repo +
			sign + `1"}}`})
		w.refuses(w.ChangeLabels(w.ctx(), ref, []string{"done"}, []string{"ready"}), fault.Unavailable, "ready", "still there")
		w.fine(w.ChangeLabels(w.ctx(), ref, []string{"ready"}, []string{"ready", "done"}))
		if got := w.item(ref).Labels; slices.Contains(got, "done") {
			t.Errorf("labels %q", got)
		}
	}
}

// What only members see is marked.
func TestConfidential(t *testing.T) {
	w := newWorld(t, GitLab)
	ref := w.issue(fake.Item{Title: "a", Confidential: true})
	w.issue(fake.Item{Title: "b"})
	w.PostComment(w.repo, fake.Issue, ref.Number, fake.Comment{Author: "ann", Body: "x", Internal: true})
	w.PostComment(w.repo, fake.Issue, ref.Number, fake.Comment{Author: "ann", Body: "y"})
	got, err := w.Get(w.ctx(), ref)
	if w.fine(err); !got.Confidential {
		t.Error("it is not marked")
	}
	all, err := w.List(w.ctx(), Query{Repo: w.repo})
	if w.fine(err); len(all) != 2 || !all[0].Confidential || all[1].Confidential {
		t.Errorf("got %+v", all)
	}
	said, err := w.Comments(w.ctx(), ref, time.Time{})
	if w.fine(err); len(said) != 2 || !said[0].Internal || said[1].Internal {
		t.Errorf("got %+v", said)
	}
}

// The commit of a pull request is known, if it is one.
func TestHead(t *testing.T) {
	both(t, func(w *world) {
		w.SetGitRoot(w.TempDir())
		w.fine(w.Seed(w.repo, map[string]string{"a.txt": "x"}))
		ref := w.pull(fake.Item{Title: "a", Branch: "main", Target: "next"})
		got, err := w.Get(w.ctx(), ref)
		if w.fine(err); got.Head == "" || got.Head != w.Head(w.repo, "main") {
			w.Errorf("it is at %q", got.Head)
		}
	})
	for name, want := range map[string]bool{strings.Repeat("a1", 20): true, strings.Repeat("0", 64): true, "": false,
		"main": false, strings.Repeat("A", 40): false, "--" + strings.Repeat("a", 38): false} {
		if (safeCommit(name) != "") != want {
			t.Errorf("%q is a commit: %v", name, !want)
		}
	}
}
