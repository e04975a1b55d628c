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

// How many contexts of tasks are kept.
const (
	maxContexts     = 200
	maxContextBytes = 1 << 30
)

// A Context is a task of which everything is kept that a model was told and said:
// the messages, the plan, the tools.
type Context struct {
	Task  coder.Task  `json:"task"`
	State coder.State `json:"state"` // as which it was kept
	Kept  time.Time   `json:"kept"`
	Bytes int64       `json:"-"` // on the disk
}

// keepContext writes a task and its record as they are. The task is written last:
// it says that the record is there.
func (s *Store) keepContext(t coder.Task, r coder.Record) error {
	record, err := s.taskFile(t.ID, "record")
	if err != nil {
		return err
	}
	if err := writeRecord(record, r); err != nil {
		return err
	}
	task, _ := s.taskFile(t.ID, "task") // the name was good a moment ago
	return write(task, Context{Task: t, State: r.State, Kept: s.now().UTC()})
}

// writeRecord writes a record, without its messages if it could not be read again
// with them.
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

// Contexts lists the tasks whose contexts are on this machine, the newest first.
// What cannot be read is left out.
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

// prune removes contexts of tasks that have ended, the oldest first, until no
// more are left than may be. What is paused may go on from there and stays.
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
