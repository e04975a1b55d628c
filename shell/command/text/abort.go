package text

import (
	"errors"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

// A statusError is a message that ends a command with an exit status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// fail aborts the command with a message and an exit status, see [cli.Check].
func fail(status int, format string, args ...any) {
	cli.Check(&statusError{status, fmt.Sprintf(format, args...)})
}

// report prints the message of [fail] and returns its exit status. Other errors are
// returned unchanged.
func report(c *shell.Call, err error) error {
	var e *statusError
	if errors.As(err, &e) {
		return c.Fail(e.status, "%s", e.text)
	}
	return err
}
