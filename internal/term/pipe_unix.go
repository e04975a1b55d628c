//go:build unix

package term

import (
	"errors"
	"os/signal"
	"syscall"
)

// OutliveReader ignores SIGPIPE: the record must still say how the request ended.
func OutliveReader() { signal.Ignore(syscall.SIGPIPE) }

// readerGone reports whether an error is a broken pipe.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
