package main

import (
	"fmt"
	"time"
)

// slow is how long something may take before people are told what it is.
const slow = time.Second

// waiting tells people what is waited for, if that takes long. Nothing is printed
// once the returned function has been called, which is done once.
func (s streams) waiting(what string) (over func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(slow, func() {
		defer close(told)
		fmt.Fprintln(s.err, "hako: "+what)
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}
