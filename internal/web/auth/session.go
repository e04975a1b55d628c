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

// Sessions are the logins, in memory: a restart ends them. The zero value is ready for use. It is safe for concurrent
// use.
type Sessions struct {
	Life time.Duration    // maximum duration; zero means 12 hours
	Idle time.Duration    // maximum duration without use; zero means 2 hours
	Most int              // maximum number; zero means 1000
	Each int              // maximum number of one token; zero means 50
	Now  func() time.Time // the clock; nil means the system's

	mu  sync.Mutex
	all map[digest]*session
}

// A Session is a login.
type Session struct {
	Key  Key       // the token it was opened with
	CSRF string    // token that a change must send besides the cookie
	Ends time.Time // at the latest
}

type session struct {
	Session
	used time.Time
}

const (
	defaultLife     = 12 * time.Hour
	defaultIdle     = 2 * time.Hour
	defaultSessions = 1000
	defaultPerToken = 50
)

// Open opens a session and returns the secret for its cookie. If the token has too many, its least recently used one is
// closed: nobody can lock others out by logging in repeatedly.
func (s *Sessions) Open(k Key) (secret string, made Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	s.makeRoom(k)
	if most := cmp.Or(s.Most, defaultSessions); len(s.all) >= most {
		return "", Session{}, &fault.Error{Kind: fault.Exhausted, Op: "log in",
			Why: fmt.Sprintf("there are %d sessions already", most), Hint: "log out somewhere, or try again later"}
	}
	if s.all == nil {
		s.all = map[digest]*session{}
	}
	secret = newSecret("")
	made = Session{Key: k, CSRF: newSecret(""), Ends: now.Add(cmp.Or(s.Life, defaultLife))}
	s.all[digestOf(secret)] = &session{made, now}
	return secret, made, nil
}

// makeRoom closes sessions of a token until it may have one more.
func (s *Sessions) makeRoom(k Key) {
	var own []digest
	for hash, one := range s.all {
		if one.Key == k {
			own = append(own, hash)
		}
	}
	slices.SortFunc(own, func(a, b digest) int { return s.all[a].used.Compare(s.all[b].used) })
	for over := len(own) - cmp.Or(s.Each, defaultPerToken) + 1; over > 0; over-- {
		delete(s.all, own[over-1])
	}
}

// Use returns a session and resets its idle time.
func (s *Sessions) Use(secret string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Looked up by its hash, so that the time of the lookup reveals nothing of the secret.
	hash := digestOf(secret)
	found := s.all[hash]
	if found == nil {
		return Session{}, false
	}
	now := s.now()
	if s.expired(found, now) {
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

// Allows reports whether a request has the CSRF token of the session.
func (s Session) Allows(csrf string) bool {
	return s.CSRF != "" && subtle.ConstantTimeCompare([]byte(s.CSRF), []byte(csrf)) == 1
}

func (s *Sessions) expired(one *session, now time.Time) bool {
	return !now.Before(one.Ends) || now.Sub(one.used) >= cmp.Or(s.Idle, defaultIdle)
}

func (s *Sessions) sweep(now time.Time) {
	for hash, one := range s.all {
		if s.expired(one, now) {
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
