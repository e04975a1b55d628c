package system

import (
	"context"

	"hako/shell"
)

var Arch = shell.Command{Name: "arch",
	Run: func(_ context.Context, c *shell.Call) error { return fixed(c, machineName) }}
