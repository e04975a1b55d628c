package engine

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"hako/run/fault"
)

// Create makes a container that does not run yet, and returns its id. Without its image the error is [ErrNoImage],
// with a name in use [ErrConflict]. A call that is given up may have made it all the same: look for the name.
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

// nameImage says which image is missing.
func nameImage(err error, image string) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Err == ErrNoImage {
		f.Err = &engineError{"docker has no image " + image, ErrNoImage}
	}
	return err
}

// Start starts a container. One that runs already is left as it is.
func (e *Engine) Start(ctx context.Context, id string) error {
	const op = "start container"
	path, err := containerPath(op, id, "/start")
	if err != nil {
		return err
	}
	return e.call(ctx, request{op: op, subject: id, method: http.MethodPost, path: path, repeatable: true}, nil)
}

// Rename gives a container another name.
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

// Remove kills a container and removes it together with its anonymous volumes. One
// that is gone already is no error; one that somebody is removing is waited for.
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

// containerPath is where a container's calls go. Only what can be a name or an id
// is let through: anything else could reach another call.
func containerPath(op, id, verb string) (string, error) {
	if !nameLike(id) {
		return "", &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(id),
			Why: "this is neither a container's name nor its id"}
	}
	return "/containers/" + id + verb, nil
}

// nameLike reports whether a text can be the name or id of a container, volume or network.
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
