package engine

import (
	"context"
	"net/http"

	"hako/run/fault"
)

// A VolumeInfo describes a volume.
type VolumeInfo struct {
	Name   string
	Labels map[string]string
}

// Volumes lists the volumes that carry all the labels. An empty value matches any.
func (e *Engine) Volumes(ctx context.Context, labels map[string]string) ([]VolumeInfo, error) {
	var all struct{ Volumes []VolumeInfo }
	err := e.call(ctx, request{op: "list volumes", path: "/volumes", query: labelFilter(labels)}, &all)
	return all.Volumes, err
}

// RemoveVolume removes a volume. A missing volume is no error; a volume that a container uses is [ErrConflict].
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	const op = "remove volume"
	if !nameLike(name) {
		return &fault.Error{Kind: fault.Invalid, Op: op, Subject: clean(name), Why: "it is not the name of a volume"}
	}
	err := e.call(ctx, request{op: op, subject: name, method: http.MethodDelete, path: "/volumes/" + name,
		repeatable: true}, nil)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}
