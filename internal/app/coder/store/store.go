// Package store keeps tasks on disk: their records, what later tasks on the same
// issue inherit, and what people have spent.
//
// Everything is in files that only their owner can read, replaced as a whole, so
// that a file is either as it was or as it should be. That is for the workers of
// one machine. Where those of many share a queue, what they inherit and spend is
// on a [KeyValue] of it, and only the contexts of tasks stay on the machine where
// they ended. The one rule to keep: what cannot be understood is an error and is
// left as it is.
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

// A Store is a directory of tasks. The zero value is not usable: Dir is
// required. It is safe for concurrent use.
type Store struct {
	Dir string
	// KeyValue is where accounts are, and what tasks leave to others. Nil means
	// files in Dir, which the workers of one machine share.
	KeyValue KeyValue
	// Now tells the time, for the month of an account. Nil means the clock.
	Now func() time.Time

	mu sync.Mutex // held while a file is read and replaced
}

// maxFile is the size of a file that nobody wrote who worked as he should.
const maxFile = 64 << 20

// files are in the directory, whatever the shelf is.
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

// taskNameChars are the letters of a task's name: it becomes the name of a directory.
const taskNameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// taskKey returns the key of a file of a task. A name must not lead out of the
// directory.
func taskKey(task, name string) (string, error) {
	odd := func(r rune) bool { return !strings.ContainsRune(taskNameChars, r) }
	if task == "" || len(task) > 64 || task[0] == '.' || strings.ContainsFunc(task, odd) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "open task", Subject: fmt.Sprintf("%.80q", task),
			Why: "this is no name of a task", Hint: "a name has letters, digits, - _ and . and does not begin with a dot"}
	}
	return "tasks/" + task + "/" + name, nil
}

// hashedKey returns the key for a name that may have any letters in it.
func hashedKey(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return dir + "/" + hex.EncodeToString(sum[:16])
}

// load reads a file into v; one that is not there leaves v as it is.
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
