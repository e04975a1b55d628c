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

// Check refuses to poll all of GitLab: anybody can add an account to a project there,
// and everything public is listed.
func (f *Forge) Check() error {
	if f.Provider != forge.GitLab || len(f.Repos) > 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "look for tasks at", Subject: f.Provider,
		Why:  "whoever adds the account to a project could give it work",
		Hint: "name the projects in gitlab.repositories, or HAKO_GITLAB_REPOSITORIES"}
}

// includes reports whether a repository is polled.
func (f *Forge) includes(repo string) bool {
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

// foreignRecord is the record of a task of a repository that is not polled. Nothing is
// written there.
func foreignRecord(t coder.Task) coder.Record {
	return coder.Record{State: coder.Stopped, Phase: coder.Ended,
		Why: t.Repo + " is not one of the repositories that are polled"}
}

// declined ends a task that must not be worked on, tells people why, and reports
// whether it did.
func (t *attempt) declined(ctx context.Context, got forge.Issue) (bool, error) {
	why, err := t.declineReason(ctx, got)
	if err != nil || why == "" {
		return false, err
	}
	client := fencedClient{t.ForgeClient, t.lease}
	why = coder.Fit(t.Coordinator.Secrets, why, maxReason)
	_, err = client.WriteComment(ctx, t.task, string(coder.Stopped), "Stopped: "+why+".")
	if err != nil && !forbidden(err) {
		return false, err
	}
	if err := client.SetState(ctx, t.task, coder.Stopped); err != nil && !forbidden(err) {
		return false, err
	}
	t.journal.last.State, t.journal.last.Phase, t.journal.last.Why = coder.Stopped, coder.Ended, why
	return true, nil
}

// forbidden reports whether the forge denied an operation.
func forbidden(err error) bool {
	return fault.KindOf(err) == fault.Denied && !errors.Is(err, coder.ErrLost)
}

// declineReason returns why a task must not be worked on; empty means that it may. The
// labeller is checked only before the work begins.
func (t *attempt) declineReason(ctx context.Context, got forge.Issue) (string, error) {
	switch {
	case got.Closed:
		return "", nil // nobody waits for an answer
	case got.Confidential:
		return "the issue is confidential, and branches and merge requests would show it to everybody", nil
	case t.journal.last.Phase != "":
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
	return "the label was set by " + describeUser(by) +
		". Only people with write access can give work: one of them can set “" + t.forge.label(coder.Pending) + "” again", nil
}

func describeUser(user string) string {
	switch {
	case user == "":
		return "somebody whose account is gone"
	case isBot(user):
		return user + ", which is a program"
	}
	return user + ", who has no write access"
}

// labeller returns who set the ready label. If the forge does not say, it is the
// author, who may have created the issue with it.
func (t *attempt) labeller(ctx context.Context, got forge.Issue) (string, error) {
	by, at, err := t.forge.LabeledBy(ctx, refOf(t.task), t.forge.label(coder.Pending))
	switch kind := fault.KindOf(err); {
	case err != nil && kind != fault.NotFound && kind != fault.Denied:
		return "", err
	case err != nil:
		return got.Author, nil
	}
	t.journal.labeledAt = &at
	if at.IsZero() {
		return got.Author, nil
	}
	return by, nil
}
