package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hako/internal/app/coder"
	"hako/run/fault"
)

// Limits of the contexts that are stored.
const (
	maxContexts     = 200
	maxContextBytes = 1 << 30
)

// A Context is a task whose messages, plan and tools are stored.
type Context struct {
	Task  coder.Task  `json:"task"`
	State coder.State `json:"state"` // when it was stored
	Kept  time.Time   `json:"kept"`
	Bytes int64       `json:"-"` // on the disk
}

// keepContext writes a task and its record. The task is written last: it says that the
// record is complete.
func (s *Store) keepContext(t coder.Task, r coder.Record) error {
	record, err := s.taskFile(t.ID, "record")
	if err != nil {
		return err
	}
	if err := writeRecord(record, r); err != nil {
		return err
	}
	task, _ := s.taskFile(t.ID, "task") // the ID was valid a moment ago
	return write(task, Context{Task: t, State: r.State, Kept: s.now().UTC()})
}

// writeRecord writes a record, without its messages if it would be too large to be read
// again.
func writeRecord(path string, r coder.Record) error {
	text, err := encode(path, r)
	if err == nil && len(text) > maxFile {
		r.Items, r.Pending = nil, nil
		text, err = encode(path, r)
	}
	if err != nil {
		return err
	}
	return replace(path, text)
}

// Contexts lists the tasks whose contexts are on this machine, the newest first. Those
// that cannot be read are omitted.
func (s *Store) Contexts() ([]Context, error) {
	dirs, err := os.ReadDir(filepath.Join(s.Dir, "tasks"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &fault.Error{Op: "list tasks", Subject: s.Dir, Err: err}
	}
	var all []Context
	for _, d := range dirs {
		if c, err := s.context(d.Name()); err == nil && c.Task.ID == d.Name() {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Context) int { return b.Kept.Compare(a.Kept) })
	return all, nil
}

func (s *Store) context(task string) (c Context, err error) {
	path, err := s.taskFile(task, "task")
	if err == nil {
		err = load(path, &c)
	}
	if err != nil {
		return c, err
	}
	parts, err := os.ReadDir(filepath.Dir(path))
	for _, p := range parts {
		if info, err := p.Info(); err == nil {
			c.Bytes += info.Size()
		}
	}
	return c, err
}

// prune removes contexts of tasks that have ended, the oldest first, down to the
// limits. A paused task may continue and stays.
func (s *Store) prune(most int, bytes int64) error {
	all, err := s.Contexts()
	for i, c := range all {
		bytes -= c.Bytes
		room := i < most && bytes >= 0 || i == 0 // the last one stays, however large
		if !room && c.State.Final() {
			err = errors.Join(err, s.remove(c.Task.ID))
		}
	}
	return err
}

func (s *Store) remove(task string) error {
	if err := os.RemoveAll(filepath.Join(s.Dir, "tasks", task)); err != nil {
		return &fault.Error{Op: "remove the context of", Subject: task, Err: err}
	}
	return nil
}
