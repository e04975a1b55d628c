package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Tty = shell.Command{Name: "tty", Run: runTty}

func runTty(_ context.Context, c *shell.Call) error {
	silent := false
	if _, err := cli.Parse(c, cli.Flags{"s": &silent}); err != nil {
		return cli.WithStatus(err, 2)
	}
	if !silent {
		c.Stdout.WriteString("not a tty\n")
	}
	return shell.Status(1)
}
