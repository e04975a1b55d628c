package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Tty = shell.Command{Name: "tty", Run: runTty}

func runTty(_ context.Context, c *shell.Call) error {
	opts, _, err := c.Options()
	if err != nil {
		return cli.WithStatus(err, 2)
	}
	if len(opts) == 0 {
		c.Stdout.WriteString("not a tty\n")
	}
	return shell.Status(1)
}
