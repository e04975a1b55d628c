package cli

import (
	"context"

	"hako/shell"
)

// Exec runs another command through the gate. It flushes standard output first, so that
// the outputs keep their order.
func Exec(ctx context.Context, c *shell.Call, argv []string, io shell.ExecIO) (int, error) {
	if err := c.Stdout.Flush(); err != nil {
		return 1, err
	}
	return c.Exec(ctx, argv, io)
}

// StatusOr returns err, or a status other than 0 as an error.
func StatusOr(status int, err error) error {
	if err != nil {
		return err
	}
	if status != 0 {
		return shell.Status(status)
	}
	return nil
}
