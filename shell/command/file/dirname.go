package file

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Dirname = shell.Command{Name: "dirname", Run: runDirname}

func runDirname(_ context.Context, c *shell.Call) error {
	end := "\n"
	operands, err := parseOperands(c, cli.Flags{"z": cli.Set(&end, "\x00")}, "missing operand")
	if err != nil {
		return err
	}
	for _, name := range operands {
		c.Stdout.WriteString(cli.Dir(name) + end)
	}
	return nil
}
