package system

import (
	"bytes"
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Yes = shell.Command{
	Name: "yes", Args: "[text...]", Summary: "print a line again and again",
	Help: `Ends when its reader does.
Examples:
  yes | head -n 3
  yes hello | head -c 100`,
	Run: runYes,
}

func runYes(ctx context.Context, c *shell.Call) error {
	_, words, err := cli.Options(c, "")
	if err != nil {
		return err
	}
	line := []byte("y\n")
	if len(words) > 0 {
		line = []byte(strings.Join(words, " ") + "\n")
	}
	chunk := bytes.Repeat(line, max(1, stream.Size/len(line)))
	for {
		if _, err := c.Stdout.Write(chunk); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}
