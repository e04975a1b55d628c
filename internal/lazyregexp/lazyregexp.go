// Package lazyregexp compiles regular expressions on first use. A program that
// is started for every line of a script must not compile those it never needs.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is an expression that is compiled once, when it is first needed. It
// is safe for concurrent use.
type Regexp struct {
	pattern string
	once    sync.Once
	re      *regexp.Regexp
}

// New returns the expression for a constant pattern. A bad pattern panics at
// first use; TestLatePatterns in start_test.go compiles all of them.
func New(pattern string) *Regexp { return &Regexp{pattern: pattern} }

// Get returns the compiled expression.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.pattern) })
	return r.re
}
