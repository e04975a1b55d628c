package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Which = shell.Command{
	Name: "which", Args: "[-as] name...", Summary: "say whether a command exists",
	Help: `Every command is part of the shell, so its "path" is /usr/bin/NAME for the looks
of it; the status is 1 if one does not exist. -s prints nothing.

  which awk jq`,
	Run: runWhich,
}

func runWhich(_ context.Context, c *shell.Call) error {
	opts, names, err := cli.Options(c, "a s")
	if err != nil {
		return cli.WithStatus(err, 2)
	}
	silent, missing := false, len(names) == 0
	for _, o := range opts {
		silent = silent || o.Name == "s"
	}
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
