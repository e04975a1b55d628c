package app

import "fmt"

// An ExitStatus is an exit status without a message.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
