package egress

import (
	"errors"
	"sync"
)

// A Permission is given at most once, and never revoked. The zero value is not given; a nil one never is. It is safe
// for concurrent use.
type Permission struct {
	mu     sync.Mutex // guards what follows
	given  bool
	notify []func() error
}

// Given reports whether the permission was given.
func (p *Permission) Given() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.given
}

// Notify registers a function to call when the permission is given.
func (p *Permission) Notify(f func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = append(p.notify, f)
}

func (p *Permission) Give() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given {
		return nil
	}
	p.given = true
	var errs []error
	for _, f := range p.notify {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
