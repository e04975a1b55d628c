package system

import (
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Printenv = shell.Command{Name: "printenv", Run: runPrintenv}

func runPrintenv(_ context.Context, c *shell.Call) error {
	end := "\n"
	names, err := cli.Parse(c, cli.Flags{"0": cli.Set(&end, "\x00")})
	if err != nil {
		return cli.WithStatus(err, 2)
	}
	env := c.Environ()
	if len(names) == 0 {
		return printEnv(c, env, end)
	}
	missing := false
	for _, name := range names {
		value, ok := lookupEnv(env, name)
		if ok {
			c.Stdout.WriteString(value + end)
		}
		missing = missing || !ok
	}
	if missing {
		return shell.Status(1)
	}
	return nil
}

func lookupEnv(env []string, name string) (string, bool) {
	for _, pair := range env {
		if n, value, _ := strings.Cut(pair, "="); n == name {
			return value, true
		}
	}
	return "", false
}
