package container

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/container/clone"
	"hako/container/engine"
	"hako/run/fault"
)

const (
	projectFolder    = ".hako"        // holds the Dockerfile of a repository and its files
	projectImageName = "hako-project" // name of images of repositories
	labelProject     = "hako.project" // marks these images
)

// imageFor finds the image of a task: that of its environment, or that of its repository if the user allows it.
func (d *Manager) imageFor(ctx context.Context, t Task, p *containerPlan) (err error) {
	if d.ProjectImages && t.Repository != "" && d.Clones != nil {
		if err := d.projectImage(ctx, t, p); err != nil {
			return err
		}
	}
	p.image, err = d.image(ctx, p.Name, p.Language.Image)
	return err
}

// projectImage builds the image of a repository, if it has one.
func (d *Manager) projectImage(ctx context.Context, t Task, p *containerPlan) error {
	src, ours := d.projectSource(t)
	if !ours {
		p.warnings = append(p.warnings, notABranch)
		return nil
	}
	files, err := d.Clones.Folder(ctx, src, projectFolder, d.reportQuoted)
	if err != nil || files.ID == "" {
		return err
	}
	judged, err := d.checkedContext(files.Tar)
	if err != nil || judged == nil {
		return err
	}
	built, err := d.buildProjectImage(ctx, p, clone.Folder{ID: files.ID, Tar: judged})
	if built && err == nil && p.network == Open {
		p.warnings = append(p.warnings, buildNetworkWarning)
	}
	return err
}

// projectSource returns where to read the Dockerfile, if that is allowed. Its steps run as root: they are not taken
// from a fork, which anybody can make, nor from saved work, which a model may have changed.
func (d *Manager) projectSource(t Task) (src clone.Source, ours bool) {
	src = d.source(t)
	src.Commit = ""
	return src, t.Start == "" || strings.HasPrefix(t.Start, "refs/heads/")
}

const notABranch = "an image in " + projectFolder + " is not built for what is not a branch of the repository itself"

const buildNetworkWarning = "the steps of " + projectFolder +
	"/Dockerfile have the engine's own network, not the proxy: they reach all that this machine reaches, and nothing of it is in the audit log"

// buildProjectImage builds the image of a repository, unless the same files were built before. Its steps have a
// network only if that of the task is open: they do not use the proxy, so a list of hosts could not be enforced.
func (d *Manager) buildProjectImage(ctx context.Context, p *containerPlan, files clone.Folder) (built bool, err error) {
	b := engine.Build{
		Context: bytes.NewReader(files.Tar), Labels: map[string]string{labelProject: d.id}, Network: "none",
		CPUs: d.Resources.CPUs, Memory: d.Resources.Memory,
	}
	tag := files.ID
	if p.network == Open {
		b.Network = ""
		tag += "-open"
	}
	p.Language.Image = projectImageName + ":" + tag
	if err := d.noteProjectImage(tag); err != nil {
		return false, err
	}
	if _, err := d.Engine.Image(ctx, p.Language.Image); err == nil || !errors.Is(err, engine.ErrNoImage) {
		return false, err
	}
	d.report("building the image that the repository brings, " + projectFolder + "/Dockerfile")
	if p.network == Open {
		d.report("warning: " + buildNetworkWarning)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	b.Tags = []string{p.Language.Image}
	if err := d.Engine.Build(ctx, b, d.reportQuoted); err != nil {
		return false, &fault.Error{Kind: fault.KindOf(err), Op: "build image", Subject: projectFolder + "/Dockerfile", Err: err,
			Hint: "fix it (its steps have a network only where command_executor.network is open), or set command_executor.clone.project_dockerfile to false"}
	}
	return true, nil
}

// noteProjectImage records the use of an image of a repository.
func (d *Manager) noteProjectImage(tag string) error {
	dir := filepath.Join(d.State, "own")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, tag), []byte("\n"), 0o600)
}

// sweepImages removes images of repositories that were not used for long and that no box uses, with their build
// stages.
func (d *Manager) sweepImages(ctx context.Context, boxes []*box) (err error) {
	notes, _ := os.ReadDir(filepath.Join(d.State, "own"))
	for _, note := range notes {
		info, ierr := note.Info()
		image := projectImageName + ":" + note.Name()
		used := slices.ContainsFunc(boxes, func(b *box) bool { return b.Image == image })
		if ierr != nil || used || time.Since(info.ModTime()) < d.Stale {
			continue
		}
		rerr := d.Engine.RemoveImage(ctx, image)
		if rerr == nil {
			_ = os.Remove(filepath.Join(d.State, "own", note.Name()))
		} else if !errors.Is(rerr, engine.ErrConflict) { // a container of another state directory uses it
			err = errors.Join(err, rerr)
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return errors.Join(err, d.sweepStages(ctx))
}

func (d *Manager) sweepStages(ctx context.Context) error {
	all, err := d.Engine.Images(ctx, map[string]string{labelProject: d.id})
	for _, img := range all {
		if len(img.Tags) > 0 || time.Since(img.Created) < d.Stale {
			continue
		}
		if rerr := d.Engine.RemoveImage(ctx, img.ID); rerr != nil && !errors.Is(rerr, engine.ErrConflict) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
