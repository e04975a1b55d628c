package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"hako/internal/app/access"
	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A Store has the access tokens. Several processes can use the same file: changes of one are seen by the others.
type Store struct {
	// Path is the file of hashed tokens, readable by its owner only. Empty means that there are only those of
	// [Store.Ephemeral].
	Path string

	Now func() time.Time // the clock; nil means the system's

	mu         sync.Mutex
	ephemeral  []entry
	stored     []entry     // of the file
	storedInfo fs.FileInfo // of the file when it was read; nil means that it was not
}

// A Token describes an access token, without the secret.
type Token struct {
	Name    string      `json:"name"`
	Role    access.Role `json:"role"`
	Created time.Time   `json:"created"`
}

type entry struct {
	Token
	Hash digest `json:"hash"`
}

// A Key identifies a verified token, to check later whether it is still valid.
type Key struct{ hash digest }

// Named returns a name that is unique to the token, even among tokens of the same name at other times, so that nothing
// is inherited. It begins with the name and reveals nothing of the secret.
func (k Key) Named(name string) string {
	mark := sha256.Sum256(append([]byte("name "), k.hash[:]...)) // not a part of the stored hash
	return name + "#" + hex.EncodeToString(mark[:6])
}

const (
	tokenPrefix = "hako_"
	maxName     = 64
	maxTokens   = 1000
	maxFile     = 1 << 20
)

// Ephemeral adds a token that is not stored.
func (s *Store) Ephemeral(name string, role access.Role) (secret string, err error) {
	if err := check(name, role); err != nil {
		return "", err
	}
	secret = newSecret(tokenPrefix)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ephemeral = append(s.ephemeral, s.entry(name, role, secret))
	return secret, nil
}

// Add adds a token, stores its hash and returns the secret, which cannot be retrieved again.
func (s *Store) Add(name string, role access.Role) (secret string, err error) {
	if err := check(name, role); err != nil {
		return "", err
	}
	secret = newSecret(tokenPrefix)
	err = s.change("add token", name, func(all []entry) ([]entry, error) {
		switch {
		case slices.ContainsFunc(all, hasName(name)):
			return nil, &fault.Error{Kind: fault.Invalid, Op: "add token", Subject: name, Why: "there is one of that name",
				Hint: "remove it first, or choose another name"}
		case len(all) >= maxTokens:
			return nil, &fault.Error{Kind: fault.Exhausted, Op: "add token", Subject: name,
				Why: fmt.Sprintf("there are %d tokens already", len(all)), Hint: "remove some"}
		}
		return append(all, s.entry(name, role, secret)), nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Remove removes a token, which becomes invalid at once.
func (s *Store) Remove(name string) error {
	return s.change("remove token", name, func(all []entry) ([]entry, error) {
		left := slices.DeleteFunc(slices.Clone(all), hasName(name))
		if len(left) == len(all) {
			return nil, &fault.Error{Kind: fault.NotFound, Op: "remove token", Subject: name, Why: "there is none of that name",
				Hint: "hako serve token list shows which there are"}
		}
		return left, nil
	})
}

// List returns the tokens of the file in the order they were added.
func (s *Store) List() ([]Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	tokens := make([]Token, len(s.stored))
	for i, e := range s.stored {
		tokens[i] = e.Token
	}
	return tokens, nil
}

// Verify returns the holder of a secret. It compares all tokens, so that its duration reveals nothing. If the file
// cannot be read, none of its tokens are valid.
func (s *Store) Verify(secret string) (access.Actor, Key, bool, error) {
	k := Key{digestOf(secret)}
	who, ok, err := s.Holder(k)
	return who, k, ok, err
}

// Holder returns the holder of a key, if the token still exists.
func (s *Store) Holder(k Key) (who access.Actor, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.ephemeral
	if err = s.refresh(); err == nil {
		all = slices.Concat(all, s.stored)
	}
	for _, e := range all {
		if e.Hash.same(k.hash) {
			who, ok, err = access.Actor{Name: e.Name, Role: e.Role}, true, nil
		}
	}
	return who, ok, err
}

func (s *Store) entry(name string, role access.Role, secret string) entry {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	return entry{Token{name, role, now().UTC().Truncate(time.Second)}, digestOf(secret)}
}

func hasName(name string) func(entry) bool { return func(e entry) bool { return e.Name == name } }

var roles = []access.Role{access.Reader, access.Operator, access.Client}

// check refuses names that could be mistaken for something else in the record.
func check(name string, role access.Role) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "add token", Subject: name}
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@", r)
	}
	switch {
	case name == "" || len(name) > maxName || strings.ContainsFunc(name, odd):
		e.Why, e.Hint = "a name has letters, digits and -_.@ only", fmt.Sprintf("choose one of 1 to %d bytes", maxName)
	case !slices.Contains(roles, role):
		e.Why, e.Hint = fmt.Sprintf("there is no role %q", role), "it is reader, operator or client"
	default:
		return nil
	}
	return e
}

// refresh reads the file if it has changed. The caller holds the lock.
func (s *Store) refresh() error {
	if s.Path == "" {
		return nil
	}
	info, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		s.stored, s.storedInfo = nil, nil
		return nil
	}
	if was := s.storedInfo; err == nil && was != nil && os.SameFile(info, was) && info.Size() == was.Size() &&
		info.ModTime().Equal(was.ModTime()) && info.Mode() == was.Mode() {
		return nil
	}
	s.stored, s.storedInfo = nil, nil
	f, err := ownerfile.Open(s.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	// Of the open file, not of the name, which may mean another file by now.
	if info, err = f.Stat(); err != nil {
		return s.unreadable(err)
	}
	if s.stored, err = s.read(f); err == nil {
		s.storedInfo = info
	}
	return err
}

// read reads the file completely or not at all: a skipped entry could be the one that somebody relies on.
func (s *Store) read(f io.Reader) ([]entry, error) {
	dec := json.NewDecoder(io.LimitReader(f, maxFile))
	dec.DisallowUnknownFields()
	var all []entry
	if err := dec.Decode(&all); err != nil && err != io.EOF { // an empty file was just created
		return nil, s.unreadable(err)
	}
	for _, e := range all {
		if err := check(e.Name, e.Role); err != nil {
			return nil, s.unreadable(err)
		}
	}
	return all, nil
}

func (s *Store) unreadable(err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read tokens", Subject: s.Path, Err: err,
		Hint: "remove the file and add the tokens again"}
}

// change updates the file while no other process does. The lock is another file, because this one is replaced.
func (s *Store) change(op, name string, do func([]entry) ([]entry, error)) error {
	if s.Path == "" {
		return &fault.Error{Kind: fault.Invalid, Op: op, Subject: name, Why: "there is no file to keep tokens in",
			Hint: "name one"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := ownerfile.Alone(s.Path)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.refresh(); err != nil {
		return err
	}
	all, err := do(s.stored)
	if err != nil {
		return err
	}
	s.storedInfo = nil // a change within one clock tick must not be missed
	return s.replace(all)
}

func (s *Store) replace(all []entry) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return s.unreadable(err)
	}
	return ownerfile.Replace(s.Path, b.Bytes())
}
