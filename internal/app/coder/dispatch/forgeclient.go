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

// A ForgeClient is where coordinators speak with the forges. It implements
// [coder.Commenter] and [coder.Publisher] and is safe for concurrent use. Its fields must
// not change after the first use.
type ForgeClient struct {
	Forges []Forge
	Trust  time.Duration // how long it is believed who may write; zero means 3 minutes
	// Record puts on record what is about to be written to a forge for a task,
	// and returns what puts on record how it ended. What it refuses is not done.
	// Nil means that nobody keeps a record.
	Record func(task, what string) (done func(error), err error)

	mu     sync.Mutex
	voices map[string]*forge.CommentWriter // by task
	rights map[permission]permissionAnswer
}

// How much is remembered. All of it can be found out again, so that when there
// is more than that everything is forgotten.
const mostVoices, mostRights = 256, 4096

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

// voice returns what speaks for a task. There is one, so that it knows what it
// said and need not look.
func (o *ForgeClient) voice(f *Forge, t coder.Task) *forge.CommentWriter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.voices[t.ID]; v != nil {
		return v
	}
	if o.voices == nil || len(o.voices) >= mostVoices {
		o.voices = make(map[string]*forge.CommentWriter)
	}
	v := &forge.CommentWriter{Forge: f.Forge, Ref: refOf(t), Task: t.ID}
	o.voices[t.ID] = v
	return v
}

// Say implements [coder.Commenter].
func (o *ForgeClient) Say(ctx context.Context, t coder.Task, key, text string) (ref string, err error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return "", err
	}
	var c forge.Comment
	err = o.recorded(t, "comment "+key, func() (err error) {
		c, err = o.voice(f, t).Write(ctx, key, text)
		return err
	})
	if err != nil {
		return "", o.meant(ctx, f, t, err)
	}
	return cmp.Or(c.URL, c.ID), nil
}

// recorded does something to a forge that is on record before and after.
func (o *ForgeClient) recorded(t coder.Task, what string, do func() error) error {
	if o.Record == nil {
		return do()
	}
	done, err := o.Record(t.ID, refOf(t).String()+" "+what)
	if err != nil {
		return &fault.Error{Kind: fault.Unavailable, Op: "record", Subject: t.ID, Err: err,
			Hint: "see to it that the audit log can be written"}
	}
	err = do()
	done(err)
	return err
}

// said returns the keys of the comments that there are of a task, by whichever
// worker.
func (o *ForgeClient) said(ctx context.Context, f *Forge, t coder.Task) (keys []string, err error) {
	all, err := f.Comments(ctx, refOf(t), time.Time{})
	if err != nil {
		return nil, o.meant(ctx, f, t, err)
	}
	for _, c := range all {
		if c.Mark.Task == t.ID {
			keys = append(keys, c.Mark.Key)
		}
	}
	return keys, nil
}

// Show implements [coder.Publisher].
func (o *ForgeClient) Show(ctx context.Context, t coder.Task, s coder.State) error {
	f, err := o.of(t.Provider)
	if err != nil {
		return err
	}
	return o.meant(ctx, f, t,
		o.recorded(t, "label "+f.label(s), func() error { return forge.SetStateLabel(ctx, f.Forge, refOf(t), f.Labels, f.label(s)) }))
}

// Propose implements [coder.Publisher].
func (o *ForgeClient) Propose(ctx context.Context, t coder.Task, p coder.Proposal) (url string, err error) {
	f, err := o.of(t.Provider)
	if err != nil {
		return "", err
	}
	var made forge.Issue
	pull := forge.Draft{Repo: t.Repo, Branch: t.Branch, Target: t.Target, Title: cmp.Or(p.Title, t.Branch), Body: p.Text}
	if t.Kind == coder.Issue {
		pull.Closes = t.Number
	}
	err = o.recorded(t, "propose "+t.Branch+" for "+t.Target, func() (err error) {
		made, _, err = forge.EnsurePullRequest(ctx, f.Forge, pull)
		return err
	})
	if err != nil {
		return "", o.meant(ctx, f, t, err)
	}
	return made.URL, nil
}

// meant finds out whether "not found" is said of the issue. Of anything else it
// must not end the task as one whose issue is gone. Nor does a token that has
// expired end it: there will be another.
func (o *ForgeClient) meant(ctx context.Context, f *Forge, t coder.Task, err error) error {
	if forge.Unauthorized(err) {
		return &fault.Error{Kind: fault.Unavailable, Op: "reach", Subject: refOf(t).String(), Why: "nobody is logged in",
			Err: err, Hint: fault.Hint(err)}
	}
	if !isGone(err) {
		return err
	}
	if _, look := f.Get(ctx, refOf(t)); isGone(look) {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "reach", Subject: refOf(t).String(), Why: "a part of it is not there",
		Err: err, Hint: fault.Hint(err)}
}
