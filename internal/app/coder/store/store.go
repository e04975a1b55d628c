// Package store stores tasks on disk: their contexts, what later tasks on the same
// issue inherit, and what users have spent.
//
// Files are readable by their owner only and are replaced as a whole. They are for the
// workers of one machine. Where workers of several machines share a queue, what they
// inherit and spend is in a [KeyValue] of the queue, and only the contexts of tasks
// stay on the machine where they ended. A file that cannot be decoded is an error and
// is left as it is.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// A Store is a directory of tasks. The zero value is not usable: Dir is required. It is
// safe for concurrent use.
type Store struct {
	Dir string
	// KeyValue has the accounts, and what tasks leave to others. Nil means files in
	// Dir, which the workers of one machine share.
	KeyValue KeyValue
	// Now returns the time, for the month of an account. Nil means the clock.
	Now func() time.Time

	mu sync.Mutex // held while a file is read and replaced
}

// maxFile is the size of a file that cannot be right, in bytes.
const maxFile = 64 << 20

// files returns the key-value store in the directory, whatever KeyValue is.
func (s *Store) files() *files { return &files{s.Dir, &s.mu} }

func (s *Store) keyValue() KeyValue {
	if s.KeyValue != nil {
		return s.KeyValue
	}
	return s.files()
}

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// taskNameChars are the characters of a task's ID, which becomes the name of a
// directory.
const taskNameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// taskKey returns the key of a file of a task. The ID must not lead out of the
// directory.
func taskKey(task, name string) (string, error) {
	odd := func(r rune) bool { return !strings.ContainsRune(taskNameChars, r) }
	if task == "" || len(task) > 64 || task[0] == '.' || strings.ContainsFunc(task, odd) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "open task", Subject: fmt.Sprintf("%.80q", task),
			Why: "this is no name of a task", Hint: "a name has letters, digits, - _ and . and does not begin with a dot"}
	}
	return "tasks/" + task + "/" + name, nil
}

// hashedKey returns the key for a name with any characters.
func hashedKey(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return dir + "/" + hex.EncodeToString(sum[:16])
}

// load decodes a file into v; one that does not exist leaves v as it is.
func load(path string, v any) error {
	text, err := read(path)
	if err != nil || text == nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return damaged(path, err)
	}
	return nil
}

// write replaces a file.
func write(path string, v any) error {
	text, err := encode(path, v)
	if err != nil {
		return err
	}
	return replace(path, text)
}

// taskFile returns the path of a file of a task.
func (s *Store) taskFile(task, name string) (string, error) {
	key, err := taskKey(task, name)
	return filepath.Join(s.Dir, filepath.FromSlash(key)) + ".json", err
}
