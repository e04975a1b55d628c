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

// A Store holds the tokens with which people and programs come in. It is safe
// for use by several processes: what one adds or removes, the others see.
type Store struct {
	// Path is the file of hashed tokens. Only its owner may read it. Empty means
	// that there are none but those of [Store.Ephemeral].
	Path string

	Now func() time.Time // the clock; nil means the system's

	mu        sync.Mutex
	ephemeral []entry
	kept      []entry     // of the file
	seen      fs.FileInfo // the file that kept was read from; nil means none was
}

// A Token is one of them, without its secret.
type Token struct {
	Name    string      `json:"name"`
	Role    access.Role `json:"role"`
	Created time.Time   `json:"created"`
}

type entry struct {
	Token
	Hash digest `json:"hash"`
}

// A Key stands for a token that was verified: it tells whether it still is.
type Key struct{ hash digest }

// Named makes a name that no other token has, not even one of the same name
// before or after it: what belonged to one does not answer to the next. It begins
// with the name, and tells nothing of the secret.
func (k Key) Named(name string) string {
	mark := sha256.Sum256(append([]byte("name "), k.hash[:]...)) // not a part of the hash that is kept
	return name + "#" + hex.EncodeToString(mark[:6])
}

const (
	tokenPrefix = "hako_"
	longestName = 64
	mostTokens  = 1000
	longestFile = 1 << 20
)

// Ephemeral makes a token that lasts as long as the Store.
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

// Add makes a token and keeps its hash in the file. The secret is not to be had
// again.
func (s *Store) Add(name string, role access.Role) (secret string, err error) {
	if err := check(name, role); err != nil {
		return "", err
	}
	secret = newSecret(tokenPrefix)
	err = s.change("add token", name, func(all []entry) ([]entry, error) {
		switch {
		case slices.ContainsFunc(all, named(name)):
			return nil, &fault.Error{Kind: fault.Invalid, Op: "add token", Subject: name, Why: "there is one of that name",
				Hint: "remove it first, or choose another name"}
		case len(all) >= mostTokens:
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

// Remove takes a token out of the file: who uses it is out from then on.
func (s *Store) Remove(name string) error {
	return s.change("remove token", name, func(all []entry) ([]entry, error) {
		left := slices.DeleteFunc(slices.Clone(all), named(name))
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
	tokens := make([]Token, len(s.kept))
	for i, e := range s.kept {
		tokens[i] = e.Token
	}
	return tokens, nil
}

// Verify tells whose a secret is. It looks at all tokens, so that the time it
// takes says nothing about them. A file that cannot be read is an error, and
// nobody of the file comes in.
func (s *Store) Verify(secret string) (access.Actor, Key, bool, error) {
	k := Key{digestOf(secret)}
	who, ok, err := s.Holder(k)
	return who, k, ok, err
}

// Holder tells who holds a key, if the token is still there.
func (s *Store) Holder(k Key) (who access.Actor, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.ephemeral
	if err = s.refresh(); err == nil {
		all = slices.Concat(all, s.kept)
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

func named(name string) func(entry) bool { return func(e entry) bool { return e.Name == name } }

var roles = []access.Role{access.Reader, access.Operator, access.Client}

// check refuses names that would look like something else in the record.
func check(name string, role access.Role) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "add token", Subject: name}
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@", r)
	}
	switch {
	case name == "" || len(name) > longestName || strings.ContainsFunc(name, odd):
		e.Why, e.Hint = "a name has letters, digits and -_.@ only", fmt.Sprintf("choose one of 1 to %d bytes", longestName)
	case !slices.Contains(roles, role):
		e.Why, e.Hint = fmt.Sprintf("there is no role %q", role), "it is reader, operator or client"
	default:
		return nil
	}
	return e
}

// refresh reads the file again if it has changed. It is called with the lock
// held.
func (s *Store) refresh() error {
	if s.Path == "" {
		return nil
	}
	info, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		s.kept, s.seen = nil, nil
		return nil
	}
	if err == nil && s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) &&
		info.Size() == s.seen.Size() && info.Mode() == s.seen.Mode() {
		return nil
	}
	s.kept, s.seen = nil, nil
	f, err := ownerfile.Open(s.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	// Of the handle, not of the name: what is read now is what must not change.
	if info, err = f.Stat(); err != nil {
		return s.broken(err)
	}
	if s.kept, err = s.read(f); err == nil {
		s.seen = info
	}
	return err
}

// read takes the file as it is or not at all: an entry that is left out could be
// the one that somebody relies on.
func (s *Store) read(f io.Reader) ([]entry, error) {
	dec := json.NewDecoder(io.LimitReader(f, longestFile))
	dec.DisallowUnknownFields()
	var all []entry
	if err := dec.Decode(&all); err != nil && err != io.EOF { // an empty file is one that was just made
		return nil, s.broken(err)
	}
	for _, e := range all {
		if err := check(e.Name, e.Role); err != nil {
			return nil, s.broken(err)
		}
	}
	return all, nil
}

func (s *Store) broken(err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read tokens", Subject: s.Path, Err: err,
		Hint: "remove the file and add the tokens again"}
}

// change reads, changes and replaces the file while no other process does. The
// lock is on a file beside it: the file itself is exchanged.
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
	all, err := do(s.kept)
	if err != nil {
		return err
	}
	s.seen = nil // a change within one tick of the clock must not be missed
	return s.replace(all)
}

func (s *Store) replace(all []entry) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return s.broken(err)
	}
	return ownerfile.Replace(s.Path, b.Bytes())
}
