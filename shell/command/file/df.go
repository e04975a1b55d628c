package file

import (
	"context"
	"fmt"
	"strconv"

	"hako/shell"
)

var Df = shell.Command{Name: "df", Run: runDf}

func runDf(_ context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	unit, readable, kind := int64(1024), int64(0), false
	for _, o := range opts {
		switch o.Name {
		case "h":
			readable = 1024
		case "H":
			readable = 1000
		case "m":
			unit = 1 << 20
		case "T":
			kind = true
		}
	}
	shown := len(operands) == 0
	for _, name := range operands {
		if _, err := lookAt(c, name, true); err != nil {
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
			return human(n, readable)
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
