package auth

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"slices"
	"sync"
	"time"

	"hako/run/fault"
)

// Sessions are the logins there are, in memory: a new start asks everybody to
// log in again. The zero value is ready for use, by many at once.
type Sessions struct {
	Life time.Duration    // how long one lasts; zero means 12 hours
	Idle time.Duration    // how long one lasts that nobody uses; zero means 2 hours
	Most int              // how many there may be; zero means 1 000
	Each int              // how many of one token; zero means 50
	Now  func() time.Time // the clock; nil means the system's

	mu  sync.Mutex
	all map[digest]*session
}

// A Session is a login.
type Session struct {
	Key  Key       // the token it was opened with
	CSRF string    // what a request that changes something must show beside the cookie
	Ends time.Time // at the latest
}

type session struct {
	Session
	used time.Time
}

const (
	usualLife     = 12 * time.Hour
	usualIdle     = 2 * time.Hour
	usualSessions = 1000
	usualOfOne    = 50
)

// Open makes a session. The secret is what the cookie holds. Who has as many as
// one token may have loses the one that was not used for longest: nobody keeps
// others out by logging in again and again.
func (s *Sessions) Open(k Key) (secret string, made Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	s.makeRoom(k)
	if most := cmp.Or(s.Most, usualSessions); len(s.all) >= most {
		return "", Session{}, &fault.Error{Kind: fault.Exhausted, Op: "log in",
			Why: fmt.Sprintf("there are %d sessions already", most), Hint: "log out somewhere, or try again later"}
	}
	if s.all == nil {
		s.all = map[digest]*session{}
	}
	secret = newSecret("")
	made = Session{Key: k, CSRF: newSecret(""), Ends: now.Add(cmp.Or(s.Life, usualLife))}
	s.all[digestOf(secret)] = &session{made, now}
	return secret, made, nil
}

// makeRoom ends sessions of a token until it may have one more.
func (s *Sessions) makeRoom(k Key) {
	var own []digest
	for hash, one := range s.all {
		if one.Key == k {
			own = append(own, hash)
		}
	}
	slices.SortFunc(own, func(a, b digest) int { return s.all[a].used.Compare(s.all[b].used) })
	for over := len(own) - cmp.Or(s.Each, usualOfOne) + 1; over > 0; over-- {
		delete(s.all, own[over-1])
	}
}

// Use finds a session and keeps it from becoming idle.
func (s *Sessions) Use(secret string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Looked up by its hash: the time that a map takes says nothing of the secret.
	hash := digestOf(secret)
	found := s.all[hash]
	if found == nil {
		return Session{}, false
	}
	now := s.now()
	if s.over(found, now) {
		delete(s.all, hash)
		return Session{}, false
	}
	found.used = now
	return found.Session, true
}

// Close ends a session.
func (s *Sessions) Close(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, digestOf(secret))
}

// Allows tells whether a request showed what only the pages of the session know.
func (s Session) Allows(csrf string) bool {
	return s.CSRF != "" && subtle.ConstantTimeCompare([]byte(s.CSRF), []byte(csrf)) == 1
}

func (s *Sessions) over(one *session, now time.Time) bool {
	return !now.Before(one.Ends) || now.Sub(one.used) >= cmp.Or(s.Idle, usualIdle)
}

func (s *Sessions) sweep(now time.Time) {
	for hash, one := range s.all {
		if s.over(one, now) {
			delete(s.all, hash)
		}
	}
}

func (s *Sessions) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
