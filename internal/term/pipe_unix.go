//go:build unix

package term

import (
	"errors"
	"os/signal"
	"syscall"
)

// OutliveReader keeps the system from ending hako at once when nobody reads its
// output any more: the record still has to say how the request ended.
func OutliveReader() { signal.Ignore(syscall.SIGPIPE) }

// readerGone reports that an error is about output nobody reads.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
