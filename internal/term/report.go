package term

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hako/internal/text"
	"hako/run/fault"
)

// exitStatus gives each kind of failure its exit status; docs/exit-status.md
// describes them.
var exitStatus = [...]int{
	fault.Other:       1,
	fault.Invalid:     2,
	fault.Unavailable: 3,
	fault.NotFound:    4,
	fault.TooLarge:    4,
	fault.Denied:      5,
	fault.Timeout:     6,
	fault.Exhausted:   7,
}

// Report prints an error with its hint and returns the exit status.
func Report(err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return 0
	case readerGone(err):
		return 141 // 128 + SIGPIPE, as shells report it
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hako: interrupted")
		return 130
	}
	// Errors contain text of servers and files, which must not steer the terminal.
	fmt.Fprintf(stderr, "hako: %s\n", text.ForTerminal(err.Error()))
	if h := fault.FlagHint(err); h != "" {
		fmt.Fprintf(stderr, "hako: hint: %s\n", text.ForTerminal(h))
	}
	return ExitStatus(fault.KindOf(err))
}

// ExitStatus returns the exit status of a kind of failure.
func ExitStatus(k fault.Kind) int { return exitStatus[k] }
