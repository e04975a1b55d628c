package system

import (
	"context"

	"hako/shell"
)

var Arch = shell.Command{
	Name: "arch", Args: "", Summary: "print the machine's architecture",
	Help: "The shell is its own machine; it says x86_64 wherever it runs.\n\nExamples:\n  arch",
	Run:  func(_ context.Context, c *shell.Call) error { return fixed(c, machineName) },
}
