package main

import (
	"fmt"
	"time"
)

// slow is how long something may take before people are told what it is.
const slow = time.Second

// meanwhile tells people what is waited for, if that takes long. Nothing is said
// any more once the returned function has been called, which is done once.
func meanwhile(s streams, waiting string) (over func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(slow, func() {
		defer close(told)
		fmt.Fprintln(s.err, "hako: "+waiting)
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}

// waiting is [meanwhile] for these streams.
func (s streams) waiting(what string) (over func()) { return meanwhile(s, what) }
