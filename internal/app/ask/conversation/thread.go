// Package conversation stores conversations by name, each in a file that only its owner can read.
//
// The caller redacts secrets. An open conversation is locked until it is closed. A saved turn is never lost, and a
// file that cannot be parsed is left unchanged.
package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/ownerfile"
	"hako/llm"
	"hako/run/fault"
)

// defaultName is the default name.
const defaultName = "default"

// maxSize is the maximum size of a file.
const maxSize = 64 << 20

// maxName is the maximum length of a name in bytes.
const maxName = 64

const suffix = ".json"

// A Store is a directory of conversations.
type Store struct {
	Dir string
}

// A Thread is an open conversation.
type Thread struct {
	Items []llm.Item // empty means that it is new

	path   string
	unlock func() // nil after Close
}

// Info describes a conversation.
type Info struct {
	Name    string    `json:"name"`
	Bytes   int64     `json:"bytes"`
	Changed time.Time `json:"changed"`
}

// Open opens or creates a conversation. If another process has it open, it returns an error at once.
func (s Store) Open(name string) (*Thread, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(name, strings.TrimSuffix(path, suffix)+".lock")
	if err != nil {
		return nil, err
	}
	items, err := read(path)
	if err != nil {
		unlock()
		return nil, err
	}
	return &Thread{Items: items, path: path, unlock: unlock}, nil
}

// Save replaces the file atomically.
func (t *Thread) Save(items []llm.Item) error {
	if t.unlock == nil {
		return &fault.Error{Op: "save conversation", Subject: t.path, Why: "it was closed"}
	}
	text, err := encode(items)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "save conversation", Subject: t.path, Err: err}
	}
	if len(text) > maxSize {
		return tooLarge("save conversation", t.path)
	}
	if err := ownerfile.Replace(t.path, text); err != nil {
		return err
	}
	t.Items = items
	return nil
}

// Close unlocks the conversation. It is idempotent.
func (t *Thread) Close() {
	if t.unlock != nil {
		t.unlock()
		t.unlock = nil
	}
}

// List returns the conversations by name.
func (s Store) List() ([]Info, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "list conversations", Subject: s.Dir, Err: fault.Reason(err)}
	}
	var all []Info
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || checkName(name) != "" {
			continue // a temporary or foreign file
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, Info{name, info.Size(), info.ModTime()})
		}
	}
	return all, nil
}

// path returns the file of a conversation. A name must not lead out of the directory, nor be hidden.
func (s Store) path(name string) (string, error) {
	if why := checkName(name); why != "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: "open conversation", Subject: fmt.Sprintf("%q", name), Why: why,
			Hint: "a name has letters, digits, - _ and . and does not begin with a dot"}
	}
	return filepath.Join(s.Dir, name+suffix), nil
}

func checkName(name string) (why string) {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > maxName:
		return fmt.Sprintf("the name is longer than %d bytes", maxName)
	case name[0] == '.':
		return "the name begins with a dot"
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	}
	for _, r := range name {
		// Marks are the vowels and accents of many scripts.
		if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune("-_.", r) {
			return fmt.Sprintf("the name has %q in it", r)
		}
	}
	return ""
}

// version is the version of the file format.
const version = 1

// A file is the stored form of a conversation.
type file struct {
	Version int        `json:"version"`
	Items   []llm.Item `json:"items"`
}

func encode(items []llm.Item) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(file{version, items})
	return text.Bytes(), err
}

// read reads a file; a missing one is an empty conversation.
func read(path string) ([]llm.Item, error) {
	f, err := ownerfile.Open(path, os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxSize {
		return nil, tooLarge("read conversation", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return nil, &fault.Error{Op: "read conversation", Subject: path, Err: fault.Reason(err)}
	}
	items, err := decode(text)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read conversation", Subject: path, Why: "the file is damaged",
			Err: err, Hint: restartHint(path)}
	}
	return items, nil
}

func decode(text []byte) ([]llm.Item, error) {
	var kept file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&kept); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("it breaks off")
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after its end")
	}
	if kept.Version != version {
		return nil, fmt.Errorf("it is of version %d, and this program knows version %d", kept.Version, version)
	}
	for i, item := range kept.Items {
		if item.Role != llm.User && item.Role != llm.Assistant && item.Role != llm.Result {
			return nil, fmt.Errorf("item %d has the role %q", i+1, item.Role)
		}
	}
	return kept.Items, nil
}

func tooLarge(op, path string) error {
	return &fault.Error{Kind: fault.TooLarge, Op: op, Subject: path, Why: "it is larger than 64 MB", Hint: restartHint(path)}
}

func restartHint(path string) string { return fmt.Sprintf("to begin anew: mv %s %s.old", path, path) }
