package system

import (
	"context"

	"hako/shell"
)

var Nproc = shell.Command{Name: "nproc", Run: func(_ context.Context, c *shell.Call) error { return fixed(c, "1") }}
