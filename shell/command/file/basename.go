package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Basename = shell.Command{Name: "basename", Run: runBasename}

func runBasename(_ context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	many, suffix, end := false, "", "\n"
	for _, o := range opts {
		switch o.Name {
		case "a":
			many = true
		case "s":
			many, suffix = true, o.Value
		case "z":
			end = "\x00"
		}
	}
	switch {
	case len(operands) == 0:
		return c.UsageError(errors.New("missing operand"))
	case !many && len(operands) > 2:
		return c.UsageError(fmt.Errorf("extra operand %s", cli.QuoteCurly(operands[2])))
	case !many && len(operands) == 2:
		suffix, operands = operands[1], operands[:1]
	}
	for _, name := range operands {
		base := cli.Base(name)
		if cut := strings.TrimSuffix(base, suffix); cut != "" && base != "/" {
			base = cut
		}
		c.Stdout.WriteString(base + end)
	}
	return nil
}
