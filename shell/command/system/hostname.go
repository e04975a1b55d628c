package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Hostname = shell.Command{Name: "hostname",
	Run: func(_ context.Context, c *shell.Call) error { return fixed(c, cli.HostName) }}
