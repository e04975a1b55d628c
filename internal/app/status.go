package app

import "fmt"

// An ExitStatus passes on a status that has already been explained, or needs no
// explanation.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
