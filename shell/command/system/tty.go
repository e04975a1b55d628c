package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Tty = shell.Command{
	Name: "tty", Args: "[-s]", Summary: "say whether standard input is a terminal",
	Help: "It never is. -s prints nothing.\n\nExamples:\n  tty -s || echo \"nobody is typing\"",
	Run:  runTty,
}

func runTty(_ context.Context, c *shell.Call) error {
	opts, _, err := cli.Options(c, "s,silent,quiet")
	if err != nil {
		return cli.WithStatus(err, 2)
	}
	if len(opts) == 0 {
		c.Stdout.WriteString("not a tty\n")
	}
	return shell.Status(1)
}
