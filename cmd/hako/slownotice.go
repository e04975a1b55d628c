package main

import (
	"fmt"
	"time"
)

// slowAfter is the delay before a note about waiting.
const slowAfter = time.Second

// waiting prints what hako waits for, if that takes long. Nothing is printed after the returned function was called,
// which must happen once.
func (s streams) waiting(what string) (over func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(slowAfter, func() {
		defer close(told)
		fmt.Fprintln(s.err, "hako: "+what)
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}
