// Package store keeps tasks on disk: their records, what later tasks on the same
// issue inherit, and what people have spent.
//
// Everything is in files that only their owner can read, replaced as a whole, so
// that a file is either as it was or as it should be. It is for the workers of one
// machine; those of many share a queue. The one rule to keep: a file that cannot
// be understood is an error and is left as it is.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hako/internal/fault"
	"hako/internal/private"
)

// A Store is a directory of tasks. The zero value is not usable: Dir is
// required. It is safe for concurrent use.
type Store struct {
	Dir string
	// Now tells the time, for the month of an account. Nil means the clock.
	Now func() time.Time

	mu sync.Mutex // held while a file is read and replaced
}

// largest is the size of a file that nobody wrote who worked as he should.
const largest = 64 << 20

// names are the letters of a task's name: it becomes the name of a directory.
const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// taskFile returns a file of a task. A name must not lead out of the directory.
func (s *Store) taskFile(task, name string) (string, error) {
	if task == "" || len(task) > 64 || task[0] == '.' || strings.Trim(task, names) != "" || strings.ContainsFunc(task, func(r rune) bool { return !strings.ContainsRune(names, r) }) {
		return "", &fault.Error{Kind: fault.Invalid, Op: "open task", Subject: fmt.Sprintf("%.80q", task), Why: "this is no name of a task", Hint: "a name has letters, digits, - _ and . and does not begin with a dot"}
	}
	return filepath.Join(s.Dir, "tasks", task, name), nil
}

// hashed returns the file for a name that may have any letters in it.
func (s *Store) hashed(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.Dir, dir, hex.EncodeToString(sum[:16])+".json")
}

// load reads a file into v; one that is not there leaves v as it is.
func load(path string, v any) error {
	f, err := private.Open(path, os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(text) > largest {
		err = errors.New("it is larger than 64 MB")
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: path, Why: "the file is damaged", Err: err, Hint: fmt.Sprintf("to begin anew: mv %s %s.old", path, path)}
	}
	return nil
}

// write replaces a file.
func write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "write", Subject: path, Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &fault.Error{Op: "write", Subject: path, Err: err}
	}
	return private.Replace(path, text)
}

// change reads a file, has it changed, and replaces it, with no other process
// between.
func change[T any](s *Store, path string, do func(*T) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := hold(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	v := new(T)
	if err := load(path, v); err != nil {
		return err
	}
	if err := do(v); err != nil {
		return err
	}
	return write(path, v)
}

// hold takes the lock of a file, which other processes have for milliseconds.
func hold(path string) (unlock func(), err error) {
	f, err := private.Open(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := private.Lock(f); err != nil {
		f.Close()
		return nil, &fault.Error{Op: "lock", Subject: path, Err: err}
	}
	return func() {
		_ = private.Unlock(f) // closing does it too, where it works at all
		f.Close()
	}, nil
}
