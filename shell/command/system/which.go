package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Which = shell.Command{Name: "which", Run: runWhich}

func runWhich(_ context.Context, c *shell.Call) error {
	silent := false
	names, err := cli.Parse(c, cli.Flags{"s": &silent})
	if err != nil {
		return cli.WithStatus(err, 2)
	}
	missing := len(names) == 0
	for _, name := range names {
		if _, ok := c.Lookup(cli.Base(name)); !ok {
			missing = true
		} else if !silent {
			c.Stdout.WriteString(shell.BinDir + cli.Base(name) + "\n")
		}
	}
	if missing {
		return shell.Status(1)
	}
	return nil
}
