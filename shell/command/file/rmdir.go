package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Rmdir = shell.Command{Name: "rmdir", Run: runRmdir}

func runRmdir(ctx context.Context, c *shell.Call) error {
	var parents, verbose, lenient bool
	operands, err := parseOperands(c, cli.Flags{
		"p": &parents, "v": &verbose, "ignore-fail-on-non-empty": &lenient,
	}, "missing operand")
	if err != nil {
		return err
	}
	return eachOperand(ctx, c, operands, func(name string) {
		for kind := ""; ; kind = "directory " {
			if verbose {
				fmt.Fprintf(c.Stdout, "rmdir: removing directory, %s\n", cli.Quote(name))
			}
			if err := removeDir(c, name); err != nil {
				if !lenient || !errors.Is(err, vfs.ErrNotEmpty) {
					c.Warn("failed to remove %s%s: %s", kind, cli.Quote(name), vfs.Reason(err))
				}
				return
			}
			up := cli.Dir(name)
			if !parents || up == "." || up == "/" || !strings.Contains(strings.TrimRight(name, "/"), "/") {
				return
			}
			name = up
		}
	})
}

func removeDir(c *shell.Call, name string) error {
	fi, err := stat(c, name, false)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return vfs.ErrNotDir
	}
	return c.FS.Remove(c.Path(name))
}
