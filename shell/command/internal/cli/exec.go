package cli

import (
	"context"

	"hako/shell"
)

// Exec runs another command through the gate. What this one has printed so
// far goes out first, so that the two do not change places.
func Exec(ctx context.Context, c *shell.Call, argv []string, io shell.ExecIO) (int, error) {
	if err := c.Stdout.Flush(); err != nil {
		return 1, err
	}
	return c.Exec(ctx, argv, io)
}

// StatusOr turns what Exec returned into what Run returns.
func StatusOr(status int, err error) error {
	if err != nil {
		return err
	}
	if status != 0 {
		return shell.Status(status)
	}
	return nil
}
