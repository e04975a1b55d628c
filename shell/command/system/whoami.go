package system

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Whoami = shell.Command{Name: "whoami",
	Run: func(_ context.Context, c *shell.Call) error { return fixed(c, cli.UserName) }}

// fixed prints an answer that is the same everywhere, so that nothing of the
// host can be learnt from it.
func fixed(c *shell.Call, answer string) error {
	_, operands, err := c.Options()
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return c.UsageError(fmt.Errorf("extra operand %s", cli.QuoteCurly(operands[0])))
	}
	_, err = fmt.Fprintln(c.Stdout, answer)
	return err
}
