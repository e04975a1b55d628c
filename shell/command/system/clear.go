package system

import (
	"context"

	"hako/shell"
)

var Clear = shell.Command{
	Name: "clear", Args: "", Summary: "clear the screen",
	Help: "There is no screen: it does nothing.\n\nExamples:\n  clear",
	Run:  func(_ context.Context, c *shell.Call) error { return nil },
}
