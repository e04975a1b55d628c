package system

import (
	"context"

	"hako/shell"
)

// Llmcmd holds the place of the command that asks a model, in sessions that
// have none.
var Llmcmd = shell.Command{Name: "llmcmd", Run: func(_ context.Context, c *shell.Call) error {
	return c.Fail(3, "no language model is available in this session")
}}
