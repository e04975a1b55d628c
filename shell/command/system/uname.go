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
	wanted := map[string]bool{}
	flags := cli.Flags{"a": func() { wanted["a"] = true }}
	for _, f := range unameFields {
		flags[f.option] = func() { wanted[f.option] = true }
	}
	operands, err := cli.Parse(c, flags)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(operands[0]))
	}
	if len(wanted) == 0 {
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
