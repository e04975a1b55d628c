package system

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Whoami = shell.Command{
	Name: "whoami", Args: "", Summary: "print the user's name",
	Help: "There is one user, called user.\n\nExamples:\n  whoami",
	Run:  func(_ context.Context, c *shell.Call) error { return fixed(c, cli.UserName) },
}

// fixed prints an answer that is the same everywhere, so that nothing of the
// host can be learnt from it.
func fixed(c *shell.Call, answer string) error {
	_, operands, err := cli.Options(c, "a,all s,short f,fqdn i d all-ip-addresses ignore:")
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return cli.Usage(c, fmt.Errorf("extra operand %s", cli.QuoteCurly(operands[0])))
	}
	_, err = fmt.Fprintln(c.Stdout, answer)
	return err
}
