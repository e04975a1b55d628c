package system

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Id = shell.Command{Name: "id", Run: runID}

func runID(_ context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	for _, name := range operands {
		if name != cli.UserName && name != fmt.Sprint(cli.UserID) {
			return c.Fail(1, "%s: no such user", cli.QuoteCurly(name))
		}
	}
	only, name := false, false
	for _, o := range opts {
		switch o.Name {
		case "u", "g", "G":
			only = true
		case "n":
			name = true
		}
	}
	text := fmt.Sprintf("uid=%d(%s) gid=%d(%s) groups=%d(%s)", cli.UserID, cli.UserName, cli.UserID, cli.UserName,
		cli.UserID, cli.UserName)
	switch {
	case only && name:
		text = cli.UserName
	case only:
		text = fmt.Sprint(cli.UserID)
	case name:
		return c.Fail(1, "cannot print only names or real IDs in default format")
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}
