package system

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Id = shell.Command{Name: "id", Run: runID}

func runID(_ context.Context, c *shell.Call) error {
	only, named := false, false
	operands, err := cli.Parse(c, cli.Flags{"u g G": &only, "n": &named})
	if err != nil {
		return err
	}
	for _, name := range operands {
		if name != cli.UserName && name != fmt.Sprint(cli.UserID) {
			return c.Fail(1, "%s: no such user", cli.QuoteCurly(name))
		}
	}
	text := fmt.Sprintf("uid=%d(%s) gid=%d(%s) groups=%d(%s)", cli.UserID, cli.UserName, cli.UserID, cli.UserName,
		cli.UserID, cli.UserName)
	switch {
	case only && named:
		text = cli.UserName
	case only:
		text = fmt.Sprint(cli.UserID)
	case named:
		return c.Fail(1, "cannot print only names or real IDs in default format")
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}
