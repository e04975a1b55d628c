package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"path"
	"time"

	"hako/internal/container/clone"
	"hako/internal/container/engine"
	"hako/internal/container/lang"
	"hako/internal/fault"
)

// ownFolder is where a repository has its own Dockerfile, with what that copies.
const ownFolder = ".hako"

// labelOwn marks images that repositories brought.
const labelOwn = "hako.project"

// imageFor returns the image of a task: that of its environment, or the one that
// its repository brings, if the user allows that.
func (d *Dock) imageFor(ctx context.Context, t Task, l lang.Language) (lang.Language, engine.Image, error) {
	if d.Own && t.Repository != "" && d.Clones != nil {
		files, err := d.Clones.Folder(ctx, d.source(t), ownFolder, d.say)
		if err != nil {
			return l, engine.Image{}, err
		}
		if hasDockerfile(files.Tar) {
			l.Image, err = d.buildOwn(ctx, files)
			if err != nil {
				return l, engine.Image{}, err
			}
		}
	}
	img, err := d.image(ctx, l.Name, l.Image)
	return l, img, err
}

// buildOwn builds the image of a repository, unless these very files were built
// before.
func (d *Dock) buildOwn(ctx context.Context, files clone.Folder) (string, error) {
	name := "hako-project:" + files.ID
	if _, err := d.Engine.Image(ctx, name); err == nil || !errors.Is(err, engine.ErrNoImage) {
		return name, err
	}
	d.say("building the image that the repository brings, " + ownFolder + "/Dockerfile")
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	err := d.Engine.Build(ctx, engine.Build{Context: bytes.NewReader(files.Tar), Tags: []string{name}, Labels: map[string]string{labelOwn: d.id}}, d.say)
	if err != nil {
		return "", &fault.Error{Kind: fault.KindOf(err), Op: "build image", Subject: ownFolder + "/Dockerfile", Err: err, Hint: "mend it, or set command_executor.clone.project_dockerfile to false"}
	}
	return name, nil
}

// hasDockerfile reports whether there is one in an archive.
func hasDockerfile(files []byte) bool {
	r := tar.NewReader(bytes.NewReader(files))
	for {
		h, err := r.Next()
		if err != nil {
			return false
		}
		if path.Clean(h.Name) == "Dockerfile" && h.Typeflag == tar.TypeReg {
			return true
		}
	}
}
