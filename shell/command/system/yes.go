package system

import (
	"bytes"
	"context"
	"strings"

	"hako/shell"
	"hako/shell/stream"
)

var Yes = shell.Command{Name: "yes", Run: runYes}

func runYes(ctx context.Context, c *shell.Call) error {
	_, words, err := c.Options()
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
