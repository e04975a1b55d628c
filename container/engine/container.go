package engine

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"hako/run/fault"
)

// Create creates a container and returns its ID. If its image is missing the error is [ErrNoImage], if its name is
// taken [ErrConflict]. A cancelled call may still create it.
func (e *Engine) Create(ctx context.Context, s Spec) (string, error) {
	const op = "create container"
	if s.Image == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: op, Subject: s.Name, Why: "no image is named"}
	}
	body, err := s.wire()
	if err != nil {
		return "", err
	}
	r := request{op: op, subject: s.Name, method: http.MethodPost, path: "/containers/create", body: body}
	if s.Name != "" {
		r.query = url.Values{"name": {s.Name}}
	}
	var out struct{ ID string }
	if err := e.call(ctx, r, &out); err != nil {
		return "", nameImage(err, s.Image)
	}
	if !nameLike(out.ID) {
		return "", garbled(r)
	}
	return out.ID, nil
}

// nameImage adds the name of a missing image.
func nameImage(err error, image string) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Err == ErrNoImage {
		f.Err = &engineError{"docker has no image " + image, ErrNoImage}
	}
	return err
}

// Start starts a container. It is no error if it runs already.
func (e *Engine) Start(ctx context.Context, id string) error {
	const op = "start container"
	path, err := containerPath(op, id, "/start")
	if err != nil {
		return err
	}
	return e.call(ctx, request{op: op, subject: id, method: http.MethodPost, path: path, repeatable: true}, nil)
}

// Rename renames a container.
func (e *Engine) Rename(ctx context.Context, id, name string) error {
	path, err := containerPath("rename container", id, "/rename")
	if err != nil {
		return err
	}
	r := request{op: "rename container", subject: id, method: http.MethodPost, path: path,
		query: url.Values{"name": {name}}}
	return e.call(ctx, r, nil)
}

// await waits for a condition of a container, "not-running" or "removed", and returns its exit status.
func (e *Engine) await(ctx context.Context, id, condition string) (int, error) {
	const op = "wait for container"
	path, err := containerPath(op, id, "/wait")
	if err != nil {
		return 0, err
	}
	var out struct {
		StatusCode *int
		Error      *struct{ Message string }
	}
	r := request{op: op, subject: id, method: http.MethodPost, path: path, query: url.Values{"condition": {condition}},
		endless: true, repeatable: true}
	switch err := e.call(ctx, r, &out); {
	case err != nil:
		return 0, err
	case out.Error != nil && out.Error.Message != "":
		return 0, &fault.Error{Kind: fault.Unavailable, Op: op, Subject: id, Why: clean(out.Error.Message)}
	case out.StatusCode == nil:
		return 0, garbled(r)
	}
	return *out.StatusCode, nil
}

// Remove kills a container and removes it with its anonymous volumes. A missing container is no error; it waits for a
// removal in progress.
func (e *Engine) Remove(ctx context.Context, id string) error {
	const op = "remove container"
	path, err := containerPath(op, id, "")
	if err != nil {
		return err
	}
	err = e.call(ctx, request{op: op, subject: id, method: http.MethodDelete, path: path,
		query: url.Values{"force": {"1"}, "v": {"1"}}, repeatable: true}, nil)
	if errors.Is(err, ErrConflict) && strings.Contains(err.Error(), "already in progress") {
		ctx, cancel := e.bound(ctx, e.timeout)
		defer cancel()
		_, err = e.await(ctx, id, "removed")
	}
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// containerPath returns the path of an API call about a container. Anything but a name or an ID could reach another
// call.
func containerPath(op, id, verb string) (string, error) {
	if !nameLike(id) {
		return "", &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(id),
			Why: "this is neither a container's name nor its id"}
	}
	return "/containers/" + id + verb, nil
}

// nameLike reports whether a text can be the name or ID of a container or volume.
func nameLike(text string) bool {
	for i, c := range []byte(text) {
		if !alphanumeric(c) && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return text != "" && len(text) <= 255
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
