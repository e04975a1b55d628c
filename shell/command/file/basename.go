package file

import (
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Basename = shell.Command{Name: "basename", Run: runBasename}

func runBasename(_ context.Context, c *shell.Call) error {
	many, suffix, end := false, "", "\n"
	operands, err := parseOperands(c, cli.Flags{
		"a": &many, "z": cli.Set(&end, "\x00"), "s": func(v string) { many, suffix = true, v },
	}, "missing operand")
	if err != nil {
		return err
	}
	switch {
	case !many && len(operands) > 2:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(operands[2]))
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
