// Package conversation keeps conversations by name, for those who want to go on with
// one later. Nothing is kept unless somebody asks for it.
//
// A conversation is a file that only its owner can read. What is in it is the
// caller's: keys and passwords are taken out before it gets here. The one rule to
// keep: a turn that was saved is never lost. Who opens a conversation has it
// alone until it is closed, and a file that cannot be understood is left as it is.
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

// Default is the name of the conversation of those who give none.
const Default = "default"

// largest is the size of a conversation that no model could take in anyway.
const largest = 64 << 20

// longestName is how many bytes a name may have.
const longestName = 64

const suffix = ".json"

// A Store is a directory of conversations. It is made when one is saved.
type Store struct {
	Dir string
}

// A Thread is a conversation that nobody else can open until it is closed.
type Thread struct {
	Items []llm.Item // what was said; empty means that it is new

	path   string
	unlock func() // nil means that it was closed
}

// Info describes a conversation without reading it.
type Info struct {
	Name    string    `json:"name"`
	Bytes   int64     `json:"bytes"`
	Changed time.Time `json:"changed"`
}

// Open opens a conversation, or begins it. If another process has it open, it
// says so at once: waiting would keep a person waiting for another's answer.
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

// Save writes the conversation anew, all or nothing.
func (t *Thread) Save(items []llm.Item) error {
	if t.unlock == nil {
		return &fault.Error{Op: "save conversation", Subject: t.path, Why: "it was closed"}
	}
	text, err := encode(items)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "save conversation", Subject: t.path, Err: err}
	}
	if len(text) > largest {
		return tooLarge("save conversation", t.path)
	}
	if err := ownerfile.Replace(t.path, text); err != nil {
		return err
	}
	t.Items = items
	return nil
}

// Close lets others open the conversation. Closing twice does nothing.
func (t *Thread) Close() {
	if t.unlock != nil {
		t.unlock()
		t.unlock = nil
	}
}

// Load reads a conversation without opening it; one that does not exist is empty.
func (s Store) Load(name string) ([]llm.Item, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	return read(path)
}

// Delete removes a conversation.
func (s Store) Delete(name string) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	gone := &fault.Error{Kind: fault.NotFound, Op: "delete conversation", Subject: name, Why: "there is none of that name"}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return gone // without making a directory to lock something in
	}
	unlock, err := lock(name, strings.TrimSuffix(path, suffix)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return gone
	case err != nil:
		return &fault.Error{Op: "delete conversation", Subject: name, Err: reason(err)}
	}
	return nil
}

// List returns the conversations there are, by name.
func (s Store) List() ([]Info, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "list conversations", Subject: s.Dir, Err: reason(err)}
	}
	var all []Info
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || checkName(name) != "" {
			continue // half-written or not ours
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, Info{name, info.Size(), info.ModTime()})
		}
	}
	return all, nil
}

// path returns the file of a conversation. A name must not lead out of the
// directory, nor hide there.
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
	case len(name) > longestName:
		return fmt.Sprintf("the name is longer than %d bytes", longestName)
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

// version is that of the file.
const version = 1

// A file is a conversation as it is kept.
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

// read returns what a file holds; no file is no conversation.
func read(path string) ([]llm.Item, error) {
	f, err := ownerfile.Open(path, os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > largest {
		return nil, tooLarge("read conversation", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, largest))
	if err != nil {
		return nil, &fault.Error{Op: "read conversation", Subject: path, Err: reason(err)}
	}
	items, err := decode(text)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read conversation", Subject: path, Why: "the file is damaged",
			Err: err, Hint: anew(path)}
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
	return &fault.Error{Kind: fault.TooLarge, Op: op, Subject: path, Why: "it is larger than 64 MB", Hint: anew(path)}
}

func anew(path string) string { return fmt.Sprintf("to begin anew: mv %s %s.old", path, path) }

// reason drops the name that os puts before its reasons.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
