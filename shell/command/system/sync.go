package system

import (
	"context"

	"hako/shell"
)

var Sync = shell.Command{
	Name: "sync", Args: "[file...]", Summary: "write everything to disk",
	Help: "There is no disk: it does nothing.\n\nExamples:\n  sync",
	Run:  func(_ context.Context, c *shell.Call) error { return nil },
}
