package command

import (
	"context"
	"fmt"

	"hako/shell"
)

var whoamiCmd = shell.Command{
	Name: "whoami", Args: "", Summary: "print the user's name",
	Help: "There is one user, called user.\n\nExamples:\n  whoami",
	Run:  func(_ context.Context, c *shell.Call) error { return fixed(c, userName) },
}

// fixed prints an answer that is the same everywhere, so that nothing of the
// host can be learnt from it.
func fixed(c *shell.Call, answer string) error {
	_, operands, err := getopt(c, "a,all s,short f,fqdn i d all-ip-addresses ignore:")
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return usage(c, fmt.Errorf("extra operand %s", curly(operands[0])))
	}
	_, err = fmt.Fprintln(c.Stdout, answer)
	return err
}
