package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A KeyValue stores values of up to 1 MB that workers share, by keys with slashes
// between words.
type KeyValue interface {
	// Get returns a value; nil if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Change replaces a value with what do returns for it, atomically. Do may be called
	// several times, also with its own result.
	Change(ctx context.Context, key string, do func(value []byte) ([]byte, error)) error
}

// get decodes a value; one that does not exist leaves v as it is.
func get(ctx context.Context, s KeyValue, key string, v any) error {
	text, err := s.Get(ctx, key)
	if err != nil || text == nil {
		return err
	}
	return decode(s, key, text, v)
}

// change decodes, changes and encodes a value.
func change[T any](ctx context.Context, s KeyValue, key string, do func(*T) error) error {
	return s.Change(ctx, key, func(text []byte) ([]byte, error) {
		v := new(T)
		if text != nil {
			if err := decode(s, key, text, v); err != nil {
				return nil, err
			}
		}
		if err := do(v); err != nil {
			return nil, err
		}
		return encode(key, v)
	})
}

// decode decodes a value; the error says where the value is.
func decode(s KeyValue, key string, text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if err == nil {
		return nil
	}
	if f, ok := s.(*files); ok {
		return damaged(f.path(key), err)
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: key, Why: "the value is damaged", Err: err,
		Hint: "remove it from the queue's key-value store to begin anew"}
}

func encode(subject string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "write", Subject: subject, Err: err}
	}
	return text, nil
}

func damaged(path string, err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: path, Why: "the file is damaged", Err: err,
		Hint: fmt.Sprintf("to begin anew: mv %s %s.old", path, path)}
}

// files is the key-value store of one machine: a file for each value.
type files struct {
	dir string
	mu  *sync.Mutex // held while a file is read and replaced
}

func (f *files) path(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)+".json") }

// Get implements [KeyValue].
func (f *files) Get(_ context.Context, key string) ([]byte, error) { return read(f.path(key)) }

// Change implements [KeyValue], also between processes.
func (f *files) Change(_ context.Context, key string, do func([]byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path(key)
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	text, err := read(path)
	if err != nil {
		return err
	}
	if text, err = do(text); err != nil {
		return err
	}
	return replace(path, text)
}

// read returns a file, nil if it does not exist.
func read(path string) ([]byte, error) {
	f, err := ownerfile.Open(path, os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is larger than 64 MB")
	}
	if err != nil {
		return nil, damaged(path, err)
	}
	return text, nil
}

func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &fault.Error{Op: "write", Subject: path, Err: err}
	}
	return ownerfile.Replace(path, text)
}

// lockFile locks a file, which other processes do for milliseconds.
func lockFile(path string) (unlock func(), err error) {
	f, err := ownerfile.Open(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := ownerfile.Lock(f); err != nil {
		f.Close()
		return nil, &fault.Error{Op: "lock", Subject: path, Err: err}
	}
	return func() {
		_ = ownerfile.Unlock(f) // closing does it too
		f.Close()
	}, nil
}
