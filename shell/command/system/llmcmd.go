package system

import (
	"context"

	"hako/shell"
)

// Llmcmd holds the place of the command that asks a model, in sessions that
// have none.
var Llmcmd = shell.Command{
	Name: "llmcmd", Args: "instructions", Summary: "have a language model work on standard input (needs a model)",
	Help: "This session has no model: the command says so and fails with status 3.\n\nExamples:\n  llmcmd 'summarise in three lines' < report.txt\n  grep ERROR app.log | llmcmd 'what went wrong?'",
	Run: func(_ context.Context, c *shell.Call) error {
		return c.Fail(3, "no language model is available in this session")
	},
}
