package system

import (
	"context"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Uname = shell.Command{Name: "uname", Run: runUname}

const machineName = "x86_64"

// unameFields are in the order in which they are printed.
var unameFields = []struct{ option, value string }{
	{"s", "Linux"}, {"n", cli.HostName}, {"r", "6.0.0-hako"}, {"v", "#1 hako virtual shell"}, {"m", machineName},
	{"p", "unknown"}, {"i", "unknown"}, {"o", "GNU/Linux"},
}

func runUname(_ context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return c.UsageError(fmt.Errorf("extra operand %s", cli.QuoteCurly(operands[0])))
	}
	wanted := make(map[string]bool)
	for _, o := range opts {
		wanted[o.Name] = true
	}
	if len(opts) == 0 {
		wanted["s"] = true
	}
	var words []string
	for _, f := range unameFields {
		if wanted[f.option] || wanted["a"] && f.value != "unknown" {
			words = append(words, f.value)
		}
	}
	_, err = fmt.Fprintln(c.Stdout, strings.Join(words, " "))
	return err
}
