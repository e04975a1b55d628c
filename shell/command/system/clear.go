package system

import (
	"context"

	"hako/shell"
)

var Clear = shell.Command{Name: "clear", Run: func(_ context.Context, c *shell.Call) error { return nil }}
