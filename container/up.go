package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"hako/container/clone"
	"hako/container/deps"
	"hako/container/engine"
	"hako/container/lang"
	"hako/internal/text"
	"hako/run/fault"
)

// Prepare gives a task a clean container: in the requested or the default environment, with its repository cloned and
// dependencies installed. It removes an earlier container of the task. Problems that do not stop it are reported as
// warnings.
func (d *Manager) Prepare(ctx context.Context, t Task, environment string) (Info, error) {
	if err := d.check(t); err != nil {
		return Info{}, err
	}
	done, err := d.record(t.ID,
		strings.TrimSpace("environment up "+oneLine(environment)+" "+
			text.RecordLine(strings.Join([]string{t.Repository, t.Branch, t.Start, t.Commit}, " "))))
	if err != nil {
		return Info{}, err
	}
	info, err := d.prepare(ctx, t, environment)
	done(err)
	return info, err
}

func (d *Manager) prepare(ctx context.Context, t Task, environment string) (Info, error) {
	lock, err := d.lockTask(ctx, t.ID)
	if err != nil {
		return Info{}, err
	}
	defer lock.Close()
	p, err := d.plan(ctx, t, environment)
	if err != nil {
		if _, ferr := d.find(t.ID); fault.KindOf(ferr) == fault.NotFound {
			_ = os.Remove(lock.Name()) // processes that wait for it detect that
		}
		return Info{}, err
	}
	if err := d.clear(ctx, t.ID); err != nil {
		return Info{}, err
	}
	swept := make(chan error, 1)
	go func() { _, err := d.CleanupStale(ctx); swept <- err }()
	b, err := d.start(ctx, t, p)
	if serr := <-swept; serr != nil && err == nil {
		b.Warnings = append(b.Warnings, "stale containers could not be removed: "+serr.Error())
	}
	if err == nil {
		err = d.markReady(b)
	}
	if err != nil {
		d.discard(ctx, b)
		_ = os.Remove(lock.Name()) // processes that wait for it detect that
		return Info{}, err
	}
	return b.Info, nil
}

func (d *Manager) check(t Task) error {
	if err := CheckTask(t.ID); err != nil {
		return err
	}
	if t.Network != "" && !d.Network.Covers(t.Network) {
		return &fault.Error{Kind: fault.Denied, Op: "start environment of task", Subject: t.ID,
			Why:  "network " + oneLine(string(t.Network)) + " is not within " + string(d.Network) + ", which the settings allow",
			Hint: "use " + string(d.Network) + " or less; there are none, allow-list and open"}
	}
	if d.Push && (t.Repository == "" || d.networkOf(t) == None || d.bare) {
		return &fault.Error{Kind: fault.Invalid, Op: "permit pushes of task", Subject: t.ID,
			Why:      "there is no repository, or no network by which it could be reached",
			Hint:     "name a repository and permit a network, or do not permit pushes",
			FlagHint: "add --repo URL and a network, or leave out --push"}
	}
	if t.Repository == "" {
		return nil
	}
	if d.Clones == nil {
		return clone.Check(d.source(t))
	}
	return d.Clones.Check(d.source(t))
}

func (d *Manager) source(t Task) clone.Source {
	return clone.Source{URL: t.Repository, Branch: t.Branch, Start: t.Start, Commit: t.Commit, Target: t.Target,
		Full: d.Full, Depth: d.Depth}
}

// A containerPlan describes a container before it is created.
type containerPlan struct {
	lang.Language
	image    engine.Image
	network  Network
	warnings []string // about the choice of the environment and its image
}

// plan checks everything it can before anything is removed or created: a mistyped branch must not cost the existing
// container.
func (d *Manager) plan(ctx context.Context, t Task, environment string) (p containerPlan, err error) {
	p.network = d.networkOf(t)
	name, warning := lang.Choose(environment, d.Images, d.Default)
	if warning != "" {
		p.warnings = append(p.warnings, warning)
	}
	if d.CA != nil {
		if _, _, err := lang.Bundle(d.CA, nil); err != nil {
			return p, err
		}
	}
	p.Language = d.language(name)
	if err = d.imageFor(ctx, t, &p); err != nil {
		return p, err
	}
	if _, ferr := d.find(t.ID); ferr == nil && t.Repository != "" && d.Clones != nil {
		err = d.Clones.Reach(ctx, d.source(t))
	}
	return p, err
}

// clear removes the earlier container of a task.
func (d *Manager) clear(ctx context.Context, task string) error {
	b, err := d.find(task)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	d.report("removing the container that " + task + " had before")
	return d.remove(ctx, b)
}

// start takes a warm container or creates one, and provisions it. On error the caller discards the returned box.
func (d *Manager) start(ctx context.Context, t Task, p containerPlan) (*box, error) {
	b, err := d.claim(ctx, t, p.Name, p.image.ID)
	if b == nil && err == nil {
		d.report("starting the " + p.Name + " environment")
		b, err = d.create(ctx, p.Language, p.image, t)
	}
	if err != nil {
		return b, nameTaken(err, t.ID)
	}
	b.Warnings = append(b.Warnings, p.warnings...)
	return b, d.provision(ctx, b, t, p.Language)
}

// nameTaken explains a container name that is in use by somebody else.
func nameTaken(err error, task string) error {
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	return &fault.Error{Kind: fault.Invalid, Op: "start environment of task", Subject: task, Why: "there is a container " +
		Name(task) + " that was not made here",
		Hint: "choose another task id, or remove it: docker rm -f " + Name(task)}
}

// provision opens the network, clones and installs.
func (d *Manager) provision(ctx context.Context, b *box, t Task, l lang.Language) error {
	if err := d.openEgress(ctx, b, t); err != nil {
		return err
	}
	if t.Repository == "" {
		return nil
	}
	if err := d.fetch(ctx, b, t); err != nil {
		return err
	}
	if d.Install && d.Packages != nil {
		if err := d.install(ctx, b, l); err != nil {
			return err
		}
	}
	return d.permitPush(ctx, b)
}

func (d *Manager) fetch(ctx context.Context, b *box, t Task) error {
	if d.Clones == nil {
		return &fault.Error{Kind: fault.Invalid, Op: "clone", Subject: oneLine(t.Repository),
			Why: "no clone directory is set"}
	}
	h, err := d.executor(ctx, b)
	if err != nil {
		return err
	}
	c, err := d.Clones.Clone(ctx, d.source(t), h, Project, d.reportQuoted)
	if err != nil {
		return err
	}
	b.Repository, b.Branch, b.Commit = t.Repository, c.Branch, c.Commit
	b.Source, b.Key = d.source(t), c.Key
	b.Source.URL = c.URL
	b.Warnings = append(b.Warnings, c.Warnings...)
	return nil
}

// install installs dependencies. Failures become warnings for the model.
func (d *Manager) install(ctx context.Context, b *box, l lang.Language) error {
	h, err := d.executor(ctx, b)
	if err != nil {
		return err
	}
	r, err := d.Packages.Install(ctx, h, l, deps.Options{Salt: salt(b), Env: b.Env, Progress: d.reportQuoted})
	if err != nil {
		return err
	}
	for _, s := range r.Steps {
		if s.Warning != "" {
			b.Warnings = append(b.Warnings, below(fmt.Sprintf("%s: %s", s.Command, s.Warning)))
		}
	}
	return nil
}

// salt separates results that must not be shared: an installation ran code of its branch, which other branches must
// not trust. The name of the local branch does not matter.
func salt(b *box) string {
	from := cmp.Or(b.Source.Commit, b.Source.Start, "refs/heads/"+b.Branch)
	return strings.Join([]string{b.ImageID, b.Repository, from}, "\n")
}

// discard removes a box that did not become ready.
func (d *Manager) discard(ctx context.Context, b *box) {
	if b == nil {
		return
	}
	if err := d.remove(context.WithoutCancel(ctx), b); err != nil {
		d.report("could not remove " + b.Name + ": " + err.Error())
	}
}
