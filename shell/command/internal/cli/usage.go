package cli

import (
	"fmt"

	"hako/shell"
)

// WithStatus replaces the status of an error that is a [shell.Status].
func WithStatus(err error, status int) error {
	if _, ok := err.(shell.Status); ok {
		return shell.Status(status)
	}
	return err
}

// Misuse reports a usage error like the GNU commands, and returns the exit status.
func Misuse(c *shell.Call, format string, args ...any) error {
	return c.UsageError(fmt.Errorf(format, args...))
}
