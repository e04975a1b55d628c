package file

import (
	"context"
	"errors"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Dirname = shell.Command{
	Name: "dirname", Args: "[-z] name...", Summary: "strip the last part from names",
	Help: `  -z  end each with a zero byte

  dirname /a/b/c.txt`,
	Run: runDirname,
}

func runDirname(_ context.Context, c *shell.Call) error {
	opts, operands, err := cli.Options(c, "z,zero")
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		return cli.Usage(c, errors.New("missing operand"))
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
