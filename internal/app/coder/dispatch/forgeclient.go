package dispatch

import (
	"cmp"
	"context"
	"sync"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/run/fault"
)

// A ForgeClient is the coordinators' access to the forges. It implements
// [coder.Commenter] and [coder.Publisher] and is safe for concurrent use. Its fields
// must not change after the first use.
type ForgeClient struct {
	Forges        []Forge
	PermissionTTL time.Duration // how long permissions are cached; zero means 3 minutes
	// Record records what is about to be written to a forge for a task, and returns a
	// function that records the outcome. If it fails, nothing is written. Nil means no
	// record.
	Record func(task, what string) (done func(error), err error)

	mu          sync.Mutex
	writers     map[string]*forge.CommentWriter // by task ID
	permissions map[permission]permissionAnswer
}

// Limits of the caches. A full cache is cleared: everything in it can be read again.
const maxWriters, maxPermissions = 256, 4096

// of returns the forge of a provider.
func (o *ForgeClient) of(provider string) (*Forge, error) {
	for i := range o.Forges {
		if o.Forges[i].Provider == provider {
			return &o.Forges[i], nil
		}
	}
	return nil, &fault.Error{Kind: fault.Invalid, Op: "find forge", Subject: provider, Why: "it is not configured here",
		Hint: "configure it for this worker too, or do not pick up its issues"}
}

// writer returns the comment writer of a task. There is one for each task, so that it
// knows what it wrote.
func (o *ForgeClient) writer(f *Forge, t coder.Task) *forge.CommentWriter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.writers[t.ID]; v != nil {
		return v
	}
	if o.writers == nil || len(o.writers) >= maxWriters {
		o.writers = make(map[string]*forge.CommentWriter)
	}
	v := &forge.CommentWriter{Forge: f.Forge, Ref: refOf(t), Task: t.ID}
	o.writers[t.ID] = v
	return v
}

// WriteComment implements [coder.Commenter].
func (o *ForgeClient) WriteComment(ctx context.Context, t coder.Task, key, text string) (ref string, err error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return "", err
	}
	var c forge.Comment
	err = o.audited(t, "comment "+key, func() (err error) {
		c, err = o.writer(f, t).Write(ctx, key, text)
		return err
	})
	if err != nil {
		return "", o.classifyError(ctx, f, t, err)
	}
	return cmp.Or(c.URL, c.ID), nil
}

// audited writes to a forge, with a record before and after.
func (o *ForgeClient) audited(t coder.Task, what string, do func() error) error {
	if o.Record == nil {
		return do()
	}
	done, err := o.Record(t.ID, refOf(t).String()+" "+what)
	if err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "record", Subject: t.ID, Err: err,
			Hint: "make the audit log writable"}
	}
	err = do()
	done(err)
	return err
}

// commentKeys returns the keys of the comments of a task, by whichever worker.
func (o *ForgeClient) commentKeys(ctx context.Context, f *Forge, t coder.Task) (keys []string, err error) {
	all, err := f.Comments(ctx, refOf(t), time.Time{})
	if err != nil {
		return nil, o.classifyError(ctx, f, t, err)
	}
	for _, c := range all {
		if c.Mark.Task == t.ID {
			keys = append(keys, c.Mark.Key)
		}
	}
	return keys, nil
}

// SetState implements [coder.Publisher].
func (o *ForgeClient) SetState(ctx context.Context, t coder.Task, s coder.State) error {
	f, err := o.of(t.Provider)
	if err != nil {
		return err
	}
	return o.classifyError(ctx, f, t,
		o.audited(t, "label "+f.label(s), func() error {
			return forge.SetStateLabel(ctx, f.Forge, refOf(t), f.Labels, f.label(s))
		}))
}

// OpenPullRequest implements [coder.Publisher].
func (o *ForgeClient) OpenPullRequest(ctx context.Context, t coder.Task, p coder.Proposal) (url string, err error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return "", err
	}
	var made forge.Issue
	pull := forge.Draft{Repo: t.Repo, Branch: t.Branch, Target: t.Target, Title: cmp.Or(p.Title, t.Branch), Body: p.Text}
	if t.Kind == coder.Issue {
		pull.Closes = t.Number
	}
	err = o.audited(t, "propose "+t.Branch+" for "+t.Target, func() (err error) {
		made, _, err = forge.EnsurePullRequest(ctx, f.Forge, pull)
		return err
	})
	if err != nil {
		return "", o.classifyError(ctx, f, t, err)
	}
	return made.URL, nil
}

// classifyError finds out whether NotFound refers to the issue: anything else that is
// missing must not end the task as one whose issue is gone. Neither does an expired
// token end it: there will be another.
func (o *ForgeClient) classifyError(ctx context.Context, f *Forge, t coder.Task, err error) error {
	if forge.Unauthorized(err) {
		return &fault.Error{Kind: fault.Unavailable, Op: "reach", Subject: refOf(t).String(), Why: "the token was refused",
			Err: err, Hint: fault.Hint(err)}
	}
	if !isNotFound(err) {
		return err
	}
	if _, look := f.Get(ctx, refOf(t)); isNotFound(look) {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "reach", Subject: refOf(t).String(), Why: "a part of it is missing",
		Err: err, Hint: fault.Hint(err)}
}
