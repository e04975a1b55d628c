package cli

import (
	"fmt"

	"hako/shell"
)

// WithStatus gives an error that only carries a status another status, for commands
// whose usage errors are not 1.
func WithStatus(err error, status int) error {
	if _, ok := err.(shell.Status); ok {
		return shell.Status(status)
	}
	return err
}

// Misuse reports wrong operands the way GNU commands do.
func Misuse(c *shell.Call, format string, args ...any) error {
	return c.UsageError(fmt.Errorf(format, args...))
}
