//go:build unix

package app

import (
	"errors"
	"syscall"
)

// ReaderGone reports that an error is about output nobody reads.
func ReaderGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
