package system

import (
	"context"
	"errors"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Timeout = shell.Command{Name: "timeout", Run: runTimeout}

func runTimeout(ctx context.Context, c *shell.Call) error {
	preserve, verbose := false, false
	words, err := cli.Parse(c, cli.Flags{"preserve-status": &preserve, "v": &verbose})
	if err != nil {
		return cli.WithStatus(err, 125)
	}
	if len(words) < 2 {
		fmt.Fprintln(c.Stderr, "Try 'timeout --help' for more information.")
		return shell.Status(125)
	}
	limit, ok := parseInterval(words[0])
	if !ok {
		return cli.WithStatus(cli.Misuse(c, "invalid time interval %s", cli.QuoteCurly(words[0])), 125)
	}
	if _, ok := c.Lookup(words[1]); !ok {
		return c.Fail(127, "failed to run command %s: No such file or directory", cli.QuoteCurly(words[1]))
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	status, err := cli.Exec(ctx, c, words[1:], shell.ExecIO{})
	late := limit > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) && c.Limiter.Err() == nil
	if !late {
		return cli.StatusOr(status, err)
	}
	if verbose {
		fmt.Fprintf(c.Stderr, "timeout: sending signal TERM to command %s\n", cli.QuoteCurly(words[1]))
	}
	if preserve {
		return shell.Status(143)
	}
	return shell.Status(124)
}
