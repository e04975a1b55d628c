package file

import (
	"context"
	"errors"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Dirname = shell.Command{Name: "dirname", Run: runDirname}

func runDirname(_ context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		return c.UsageError(errors.New("missing operand"))
	}
	end := "\n"
	if len(opts) > 0 {
		end = "\x00"
	}
	for _, name := range operands {
		c.Stdout.WriteString(cli.Dir(name) + end)
	}
	return nil
}
