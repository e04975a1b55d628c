package system

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Hostname = shell.Command{
	Name: "hostname", Args: "[-sfid]", Summary: "print the machine's name",
	Help: "Always hako: what the host is called is not shown.\n\nExamples:\n  hostname",
	Run:  func(_ context.Context, c *shell.Call) error { return fixed(c, cli.HostName) },
}
