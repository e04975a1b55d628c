package app

import (
	"context"
	"errors"
	"fmt"

	"hako/run/fault"
)

// An ExitStatus passes on a status that has already been explained, or needs no
// explanation.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// kindStatus gives each kind of failure its exit status; docs/exit-status.md says
// the same in words.
var kindStatus = map[fault.Kind]int{
	fault.Other:       1,
	fault.Invalid:     2,
	fault.Unavailable: 3,
	fault.NotFound:    4,
	fault.TooLarge:    4,
	fault.Denied:      5,
	fault.Timeout:     6,
	fault.Exhausted:   7,
}

// KindStatus is the exit status of a kind of failure.
func KindStatus(kind fault.Kind) int { return kindStatus[kind] }

// The statuses of what ends from outside, as shells have them.
const (
	StatusInterrupted = 130
	StatusReaderGone  = 141 // whoever read the output went away
)

// StatusOf is the exit status of an error; nil has status 0.
func StatusOf(err error) int {
	var exit ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case ReaderGone(err):
		return StatusReaderGone
	case errors.Is(err, context.Canceled):
		return StatusInterrupted
	}
	return kindStatus[fault.KindOf(err)]
}
