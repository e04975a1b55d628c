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

// An Image is an image as the engine describes it.
type Image struct {
	ID      string    // "sha256:…"
	Tags    []string  // "python:3.11"
	Created time.Time // only from Images
	Env     []string  // only from Image
	Volumes []string  // paths of the volumes that every container of it gets; only from Image
}

// Image describes an image by its name or ID. If there is none, the error is [ErrNoImage].
func (e *Engine) Image(ctx context.Context, name string) (Image, error) {
	const op = "inspect image"
	path, err := imagePath(op, name, "/json")
	if err != nil {
		return Image{}, err
	}
	var i struct {
		ID       string
		RepoTags []string
		Config   struct {
			Env     []string
			Volumes map[string]struct{}
		}
	}
	r := request{op: op, path: path}
	if err := e.call(ctx, r, &i); err != nil {
		return Image{}, nameImage(err, name)
	}
	if !imageLike(i.ID) {
		return Image{}, garbled(r)
	}
	return Image{ID: clean(i.ID), Tags: cleanAll(i.RepoTags), Env: i.Config.Env,
		Volumes: cleanAll(slices.Sorted(maps.Keys(i.Config.Volumes)))}, nil
}

// Images describes the images that carry all the labels. An empty value matches any; no labels mean every image.
func (e *Engine) Images(ctx context.Context, labels map[string]string) ([]Image, error) {
	var all []struct {
		ID       string
		RepoTags []string
		Created  int64
	}
	if err := e.call(ctx, request{op: "list images", path: "/images/json", query: labelFilter(labels)}, &all); err != nil {
		return nil, err
	}
	var out []Image
	for _, i := range all {
		untagged := slices.Equal(i.RepoTags, []string{"<none>:<none>"}) // how older engines list it
		if untagged {
			i.RepoTags = nil
		}
		out = append(out, Image{ID: clean(i.ID), Tags: cleanAll(i.RepoTags), Created: time.Unix(i.Created, 0)})
	}
	return out, nil
}

// RemoveImage removes a tag, and the image with its last one. A missing image is no error; an image that a container
// uses is [ErrConflict].
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

// imagePath returns the path of an API call about an image.
func imagePath(op, name, verb string) (string, error) {
	if !imageLike(name) {
		return "", &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(name), Why: "this is not the name of an image",
			Hint: "write it like python:3.11"}
	}
	return "/images/" + name + verb, nil
}

// imageLike reports whether a text can be the name or ID of an image: path elements like the names of containers, with
// a registry's port, a tag or a digest.
func imageLike(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if !nameLike(strings.NewReplacer(":", "-", "@", "-").Replace(part)) {
			return false
		}
	}
	return true
}
