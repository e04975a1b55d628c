package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/run/fault"
)

// Check refuses to take work from anybody: at GitLab nobody is asked before his
// account is added to a project, and everything public is listed anyway.
func (f *Forge) Check() error {
	if f.Provider != forge.GitLab || len(f.Repos) > 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "look for tasks at", Subject: f.Provider,
		Why:  "whoever adds the account to a project could give it work",
		Hint: "name the projects in gitlab.repositories, or HAKO_GITLAB_REPOSITORIES"}
}

// takes reports whether a repository is one of those that are looked at.
func (f *Forge) takes(repo string) bool {
	return len(f.Repos) == 0 || slices.ContainsFunc(f.Repos, func(one string) bool { return strings.EqualFold(one, repo) })
}

func (o *ForgeClient) check() error {
	for i := range o.Forges {
		if err := o.Forges[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// strange is the record of a task from where nobody looks for any. Nothing is
// said about it there: it is not our place.
func strange(t coder.Task) coder.Record {
	return coder.Record{State: coder.Stopped, Phase: coder.Ended,
		Why: t.Repo + " is none of the repositories that are looked at"}
}

// declined ends a task that must not be worked on and tells people why. It
// reports whether it did.
func (t *attempt) declined(ctx context.Context, got forge.Issue) (bool, error) {
	why, err := t.objection(ctx, got)
	if err != nil || why == "" {
		return false, err
	}
	client := fencedClient{t.ForgeClient, t.lease}
	why = coder.Fit(t.Coordinator.Secrets, why, longestWhy)
	if _, err := client.Say(ctx, t.task, string(coder.Stopped), "Stopped: "+why+"."); err != nil && !forbidden(err) {
		return false, err
	}
	if err := client.Show(ctx, t.task, coder.Stopped); err != nil && !forbidden(err) {
		return false, err
	}
	t.book.last.State, t.book.last.Phase, t.book.last.Why = coder.Stopped, coder.Ended, why
	return true, nil
}

// forbidden reports whether the forge does not let us do something.
func forbidden(err error) bool {
	return fault.KindOf(err) == fault.Denied && !errors.Is(err, coder.ErrLost)
}

// objection is what speaks against working on a task; empty means nothing. Who
// wants it is asked when nobody has begun yet.
func (t *attempt) objection(ctx context.Context, got forge.Issue) (string, error) {
	switch {
	case got.Closed:
		return "", nil // nobody waits for a word
	case got.Confidential:
		return "the issue is confidential, and branches and merge requests would show it to everybody", nil
	case t.book.last.Phase != "":
		return "", nil
	}
	by, err := t.labeller(ctx, got)
	if err != nil {
		return "", err
	}
	may, err := t.ForgeClient.mayWrite(ctx, t.forge, t.task.Repo, by)
	if err != nil || may {
		return "", err
	}
	return "the label was set by " + named(by) + ". Only people with write access can give work: one of them can set “" +
		t.forge.label(coder.Pending) + "” again", nil
}

func named(user string) string {
	switch {
	case user == "":
		return "somebody whose account is gone"
	case robot(user):
		return user + ", which is a program"
	}
	return user + ", who has no write access"
}

// labeller is who wants an issue to be worked on. Where the forge does not tell,
// it is the author, who may have set the label when it was made.
func (t *attempt) labeller(ctx context.Context, got forge.Issue) (string, error) {
	by, at, err := t.forge.LabeledBy(ctx, refOf(t.task), t.forge.label(coder.Pending))
	switch kind := fault.KindOf(err); {
	case err != nil && kind != fault.NotFound && kind != fault.Denied:
		return "", err
	case err != nil:
		return got.Author, nil
	}
	t.book.wish = &at
	if at.IsZero() {
		return got.Author, nil
	}
	return by, nil
}
