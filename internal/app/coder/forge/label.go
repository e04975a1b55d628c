package forge

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"hako/run/fault"
)

// stays is a label that was to be taken off and was not.
func stays(ref Ref, label string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "take label off", Subject: ref.String(), Why: "“" + clean(label) +
		"” is still there", Hint: "see whether the account may change labels there"}
}

// A labelling is that somebody set a label.
type labelling struct {
	id        int64 // grows
	label, by string
	at        time.Time
}

// lastLabelling looks at all events, in whatever order they come. If there are
// more than can be looked at nobody knows which is the last: others could hide it
// behind theirs.
func lastLabelling(label string, fetch func(page int) (list []labelling, next int, err error)) (last labelling,
	err error) {
	page := 1
	for range maxPages {
		list, next, err := fetch(page)
		if err != nil {
			return labelling{}, err
		}
		for _, l := range list {
			if strings.EqualFold(l.label, label) && l.id > last.id {
				last = l
			}
		}
		if page = next; page == 0 {
			return last, nil
		}
	}
	return labelling{}, errNonsense
}

func (h *githubForge) WhoLabelled(ctx context.Context, ref Ref, label string) (by string, at time.Time, err error) {
	if err := checkRef(GitHub, ref); err != nil {
		return "", time.Time{}, err
	}
	owner, name := split(ref.Repo)
	last, err := lastLabelling(label, func(page int) ([]labelling, int, error) {
		list, res, err := h.api.Issues.ListIssueEvents(ctx, owner, name, ref.Number,
			&github.ListOptions{Page: page, PerPage: perPage})
		return hubLabellings(list), nextPage(res), err
	})
	return last.by, last.at, h.mail.explain("ask who labelled", ref.String(), err)
}

func hubLabellings(list []*github.IssueEvent) (all []labelling) {
	for _, e := range there(list) {
		if e.GetEvent() == "labeled" {
			all = append(all, labelling{e.GetID(), clean(e.GetLabel().GetName()), clean(e.GetActor().GetLogin()),
				e.GetCreatedAt().Time})
		}
	}
	return all
}

func (l *gitlabForge) WhoLabelled(ctx context.Context, ref Ref, label string) (by string, at time.Time, err error) {
	if err := checkRef(GitLab, ref); err != nil {
		return "", time.Time{}, err
	}
	events := l.api.ResourceLabelEvents.ListIssueLabelEvents
	if ref.Kind == PullRequest {
		events = l.api.ResourceLabelEvents.ListMergeRequestsLabelEvents
	}
	last, err := lastLabelling(label, func(page int) ([]labelling, int, error) {
		o := &gitlab.ListLabelEventsOptions{ListOptions: gitlab.ListOptions{Page: int64(page), PerPage: perPage}}
		list, res, err := events(ref.Repo, int64(ref.Number), o, gitlab.WithContext(ctx))
		return labLabellings(list), labNext(res), err
	})
	return last.by, last.at, l.mail.explain("ask who labelled", ref.String(), err)
}

func labLabellings(list []*gitlab.LabelEvent) (all []labelling) {
	for _, e := range there(list) {
		if e.Action == "add" {
			all = append(all, labelling{e.ID, clean(e.Label.Name), clean(e.User.Username), stamp(e.CreatedAt)})
		}
	}
	return all
}
