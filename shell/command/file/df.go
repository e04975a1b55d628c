package file

import (
	"context"
	"fmt"
	"strconv"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Df = shell.Command{Name: "df", Run: runDf}

func runDf(_ context.Context, c *shell.Call) error {
	unit, readable, kind := int64(1024), int64(0), false
	operands, err := cli.Parse(c, cli.Flags{
		"h": cli.Set(&readable, 1024), "H": cli.Set(&readable, 1000), "m": cli.Set(&unit, 1<<20), "T": &kind,
	})
	if err != nil {
		return err
	}
	shown := len(operands) == 0
	for _, name := range operands {
		if _, err := stat(c, name, true); err != nil {
			c.WarnFile(name, err)
			continue
		}
		shown = true
	}
	if !shown {
		return nil
	}
	text := func(n int64) string {
		if readable > 0 {
			return humanSize(n, readable)
		}
		return strconv.FormatInt((n+unit-1)/unit, 10)
	}
	all := c.Limiter.Limits().Memory
	used := min(c.Limiter.Held(), all)
	title, typ := map[int64]string{1024: "1K-blocks", 1 << 20: "1M-blocks"}[unit], ""
	if readable > 0 {
		title = "Size"
	}
	head := "Filesystem "
	if kind {
		head, typ = "Filesystem Type   ", "memory "
	}
	fmt.Fprintf(c.Stdout, "%s %9s %8s %9s Use%% Mounted on\n", head, title, "Used", "Available")
	_, err = fmt.Fprintf(c.Stdout, "tree        %s%9s %8s %9s %3d%% /\n", typ, text(all), text(used), text(all-used),
		(used*100+all-1)/max(all, 1))
	return err
}
