//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// outliveReader keeps the system from ending hako at once when nobody reads its
// output any more: the record still has to say how the request ended.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }
