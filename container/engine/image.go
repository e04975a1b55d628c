package engine

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hako/run/fault"
)

// An Image is one as the engine describes it.
type Image struct {
	ID      string   // "sha256:…"
	Tags    []string // "python:3.11"
	Created time.Time
	Size    int64 // bytes
	Labels  map[string]string

	// Only from Image; empty in a list.
	OS, Arch string
	User     string
	Env      []string
	Volumes  []string // where it wants volumes: every container of it has one there
}

// Image describes an image by its name or id. If there is none, the error is
// [ErrNoImage].
func (e *Engine) Image(ctx context.Context, name string) (Image, error) {
	const op = "inspect image"
	path, err := imagePath(op, name, "/json")
	if err != nil {
		return Image{}, err
	}
	var i struct {
		ID, Created, Os, Architecture string
		RepoTags                      []string
		Size                          int64
		Config                        struct {
			Labels map[string]string
			User   string
			Env    []string

			Volumes map[string]struct{}
		}
	}
	r := request{op: op, path: path}
	if err := e.call(ctx, r, &i); err != nil {
		return Image{}, naming(err, name)
	}
	if !imageLike(i.ID) {
		return Image{}, garbled(r)
	}
	return Image{
		ID: clean(i.ID), Tags: cleanAll(i.RepoTags), Created: moment(i.Created), Size: i.Size, Labels: i.Config.Labels,
		OS: clean(i.Os), Arch: clean(i.Architecture), User: i.Config.User, Env: i.Config.Env,
		Volumes: cleanAll(slices.Sorted(maps.Keys(i.Config.Volumes))),
	}, nil
}

// Images describes the images that carry all the labels. An empty value means any;
// no labels mean every image.
func (e *Engine) Images(ctx context.Context, labels map[string]string) ([]Image, error) {
	var all []struct {
		ID            string
		RepoTags      []string
		Created, Size int64
		Labels        map[string]string
	}
	if err := e.call(ctx, request{op: "list images", path: "/images/json", query: labelled(labels)}, &all); err != nil {
		return nil, err
	}
	var out []Image
	for _, i := range all {
		out = append(out, Image{ID: clean(i.ID), Tags: tags(i.RepoTags), Created: time.Unix(i.Created, 0), Size: i.Size,
			Labels: i.Labels})
	}
	return out, nil
}

// tags leaves out the engine's word for an image without any.
func tags(all []string) []string {
	if len(all) == 1 && all[0] == "<none>:<none>" {
		return nil
	}
	return cleanAll(all)
}

// RemoveImage takes away a name, and the image with its last one. One that is gone
// already is no error; one that a container uses is [ErrConflict].
func (e *Engine) RemoveImage(ctx context.Context, name string) error {
	const op = "remove image"
	path, err := imagePath(op, name, "")
	if err != nil {
		return err
	}
	err = e.call(ctx, request{op: op, subject: name, method: http.MethodDelete, path: path, repeatable: true}, nil)
	if errors.Is(err, ErrNoImage) {
		return nil
	}
	return err
}

// imagePath is where an image's calls go.
func imagePath(op, name, verb string) (string, error) {
	if !imageLike(name) {
		return "", &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(name), Why: "this is not the name of an image",
			Hint: "write it like python:3.11"}
	}
	return "/images/" + name + verb, nil
}

// imageLike reports whether a text can be the name or id of an image: path elements
// like the names of containers, with a registry's port, a tag or a digest.
func imageLike(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if !nameLike(strings.NewReplacer(":", "-", "@", "-").Replace(part)) {
			return false
		}
	}
	return true
}
