package system

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

// These commands print an answer that is the same everywhere, so that nothing of
// the host can be learnt from it.
var (
	Arch     = fixed("arch", machineName)
	Hostname = fixed("hostname", cli.HostName)
	Nproc    = fixed("nproc", "1")
	Whoami   = fixed("whoami", cli.UserName)
)

// These commands do nothing here.
var (
	Clear = shell.Command{Name: "clear", Run: func(context.Context, *shell.Call) error { return nil }}
	Sync  = shell.Command{Name: "sync", Run: func(context.Context, *shell.Call) error { return nil }}
)

func fixed(name, answer string) shell.Command {
	return shell.Command{Name: name, Run: func(_ context.Context, c *shell.Call) error {
		_, operands, err := c.Options()
		if err != nil {
			return err
		}
		if len(operands) > 0 {
			return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(operands[0]))
		}
		_, err = fmt.Fprintln(c.Stdout, answer)
		return err
	}}
}
