//go:build !linux

package procgroup

import (
	"os"
	"time"

	"hako/run/fault"
)

// A Group cannot be had on this system.
type Group struct{}

// A Process is a program that was started.
type Process struct {
	Pid int
	Pipes
}

var errLinux = &fault.Error{Kind: fault.Unavailable, Op: "start guest", Why: "it works inside Linux containers only",
	Hint: "start it by hako env up"}

// Open refuses.
func Open(Options) (*Group, error) { return nil, errLinux }

// Start implements the method that Linux has.
func (*Group) Start(Program) (*Process, error) { return nil, errLinux }

// EndAll implements the method that Linux has.
func (*Group) EndAll(time.Duration) {}

// Count implements the method that Linux has.
func (*Group) Count() (all, left int) { return 0, 0 }

// Left implements the method that Linux has.
func (*Group) Left() bool { return false }

// EndLeft implements the method that Linux has.
func (*Group) EndLeft(time.Duration) {}

// Done implements the method that Linux has.
func (*Process) Done() <-chan struct{} { return nil }

// Ending implements the method that Linux has.
func (*Process) Ending() Ending { return Ending{} }

// Signal implements the method that Linux has.
func (*Process) Signal(int) {}

// End implements the method that Linux has.
func (*Process) End(time.Duration) {}

// Leave implements the method that Linux has.
func (*Process) Leave(time.Time, time.Duration) {}

// Pending implements the function that Linux has.
func Pending(*os.File) int { return 0 }

// As implements the function that Linux has.
func As(int, int, func()) error { return errLinux }

func groupsInUse(span) map[int]bool { return nil }
