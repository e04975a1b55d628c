package system

import (
	"context"

	"hako/shell"
)

var Sync = shell.Command{Name: "sync", Run: func(_ context.Context, c *shell.Call) error { return nil }}
